package reconcile

import "muster/internal/fleet"

const maxHandedBytes = 4 << 20 // of documents that wait for their devices' turns

// ConfigKept says that the store has a new configuration of a device, and hands it over: to read it from there would
// cost as much as keeping it did. Where too much waits already it is read from there.
func (e *Engine) ConfigKept(id fleet.DeviceID, config fleet.ObservedConfig) {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.item(id)
	e.takeHanded(m)
	if e.handedBytes+len(config.JSON) <= maxHandedBytes {
		m.handed = &config
		e.handedBytes += len(config.JSON)
	}
	e.push(m)
}

// takeHanded takes the document that waits; nil when there is none. The caller holds mu.
func (e *Engine) takeHanded(m *item) *fleet.ObservedConfig {
	config := m.handed
	if config != nil {
		m.handed = nil
		e.handedBytes -= len(config.JSON)
	}
	return config
}
