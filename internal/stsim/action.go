package stsim

import (
	"net/http"

	"muster/internal/core/stconfig"
)

// setPaused returns the handler that pauses or resumes all other devices, or the one that is named (lib/api,
// makeDevicePauseHandler).
func setPaused(paused bool) handler {
	return func(e *endpoint, w http.ResponseWriter, r *http.Request, _ string) {
		one := query(r).Get("device")
		e.finish(w, e.daemon.modify(e.process, func(doc stconfig.Value) (stconfig.Value, error) {
			var members []stconfig.Value
			for device := range doc.Get("devices").Values() {
				id := device.Get("deviceID").Str()
				if id != string(e.daemon.id) && (one == "" || one == id) {
					device = device.With("paused", stconfig.Boolean(paused))
				}
				members = append(members, device)
			}
			return doc.With("devices", stconfig.List(members...)), nil
		}))
	}
}

// release is what the release server would tell: the newest one is that of V2.
func (e *endpoint) release(w http.ResponseWriter, r *http.Request, _ string) {
	old := e.daemon.Version() == V1
	running := "v2.1.3"
	if old {
		running = "v1.19.2"
	}
	e.sendJSON(w, r, map[string]any{"running": running, "latest": "v2.1.3", "newer": old, "majorNewer": old})
}

// upgrade installs the newest release; where there is none it answers with nothing.
func (e *endpoint) upgrade(w http.ResponseWriter, _ *http.Request, _ string) {
	if e.daemon.Version() != V1 {
		return
	}
	flush(w, `{"ok": "restarting"}`)
	e.daemon.farm.later(func() {
		if err := e.daemon.replaceProgram(V2); err != nil {
			e.daemon.farm.log.Warn("simulated daemon does not upgrade", "device", e.daemon.id, "err", err)
		}
		e.daemon.comeUp()
	})
}
