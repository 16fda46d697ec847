package mirror

import (
	"sync"

	"muster/internal/fleet"
)

const maxHandedBytes = 4 << 20 // memory for the configurations in the handover

// handover holds configurations that the sink has just stored, until reconcile takes them: reading one back from the
// store would cost as much as storing it did. A configuration that does not fit is not held, and reconcile reads it
// from the store.
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

// TakeConfig returns the configuration that ConfigObserved announced last, and forgets it. It returns nil if the
// caller has to read the configuration from the store.
func (m *Mirror) TakeConfig(id fleet.DeviceID) *fleet.ObservedConfig { return m.handover.take(id) }

// announce puts a configuration that the sink has stored into the handover, and announces it.
func (m *Mirror) announce(id fleet.DeviceID, config fleet.ObservedConfig) {
	m.handover.put(id, config)
	if m.o.ConfigObserved != nil {
		m.o.ConfigObserved(id)
	}
}
