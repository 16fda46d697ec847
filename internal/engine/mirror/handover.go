package mirror

import (
	"sync"

	"muster/internal/fleet"
)

const maxHandedBytes = 4 << 20 // of configurations that wait to be taken

// handover holds configurations that the sink was given a moment ago, until they are taken: to read one from the store
// would cost as much as keeping it did. Where too much waits already, it is read from there.
type handover struct {
	mu      sync.Mutex // guards the rest
	configs map[fleet.DeviceID]*fleet.ObservedConfig
	bytes   int
}

func (h *handover) put(id fleet.DeviceID, config fleet.ObservedConfig) {
	h.take(id)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bytes+len(config.JSON) <= maxHandedBytes {
		h.configs[id] = &config
		h.bytes += len(config.JSON)
	}
}

func (h *handover) take(id fleet.DeviceID) *fleet.ObservedConfig {
	h.mu.Lock()
	defer h.mu.Unlock()
	config := h.configs[id]
	if config != nil {
		delete(h.configs, id)
		h.bytes -= len(config.JSON)
	}
	return config
}

// TakeKept gives the configuration that ConfigSeen announced last, once; nil when it is to be read from the store.
func (m *Mirror) TakeKept(id fleet.DeviceID) *fleet.ObservedConfig { return m.handover.take(id) }

// seen hands over a configuration that the sink keeps now, and announces it.
func (m *Mirror) seen(id fleet.DeviceID, config fleet.ObservedConfig) {
	m.handover.put(id, config)
	if m.o.ConfigSeen != nil {
		m.o.ConfigSeen(id)
	}
}
