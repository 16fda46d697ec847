package app

import (
	"context"
	"log/slog"
	"time"

	"muster/api"
	"muster/internal/adapter/tunnel"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// agentEvent publishes a change of an agent's connection as an event, and logs it.
func (a *App) agentEvent(e tunnel.Event) {
	registry, err := a.store.Registry(context.Background()) // The registry is read from memory.
	if err != nil {
		return
	}
	var tags []fleet.Tag
	registered, device := 0, registry.Devices[e.Device]
	if device != nil {
		registered, tags = len(registry.Devices), device.Tags
	}
	told, leftOut := a.agentEvents.Admit(e.Device, registered, time.Now())
	if leftOut > 0 {
		a.log.Warn("agents come and go so often that this log and the events leave some of it out", logkey.Count, leftOut)
	}
	if !told {
		return
	}
	level := slog.LevelInfo
	if e.State == tunnel.EventRefused || e.State == tunnel.EventCloned {
		level = slog.LevelWarn
	}
	a.log.Log(context.Background(), level, "news of an agent", logkey.Status, string(e.State), logkey.Device,
		e.Device, logkey.Address, e.Address, logkey.Reason, e.Reason)
	a.events.Agent(e.Device, tags, api.AgentEvent{State: string(e.State), Address: e.Address,
		Name: e.Name, Reason: e.Reason})
}

// noteRival records that a second agent connects with the certificate of a device, so its key is on two machines.
func (a *App) noteRival(id fleet.DeviceID, is tunnel.Info) {
	if !a.health.SetRival(id, is.Rival) || is.Rival == "" || !a.registered(id) {
		return
	}
	err := a.store.RecordBoundedBySubject(fleet.WithActor(context.Background(), "agent"), "agent.cloned", string(id),
		"agents connect with this device's certificate from "+is.Address+" and from "+is.Rival)
	if err != nil {
		a.log.Error("a copied device certificate is not in the audit", logkey.Device, id, logkey.Err(err))
	}
}
