package app

import (
	"context"
	"log/slog"
	"time"

	"muster/api"
	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/tunnel"
)

// agentNews has the events and the log tell what became of an agent's connection.
func (a *App) agentNews(news tunnel.News) {
	registry, err := a.store.Registry(context.Background()) // from memory
	if err != nil {
		return
	}
	var tags []fleet.Tag
	registered, device := 0, registry.Devices[news.Device]
	if device != nil {
		registered, tags = len(registry.Devices), device.Tags
	}
	told, leftOut := a.news.Admit(news.Device, registered, time.Now())
	if leftOut > 0 {
		a.log.Warn("agents come and go so often that this log and the events leave some of it out", logkey.Count, leftOut)
	}
	if !told {
		return
	}
	level := slog.LevelInfo
	if news.State == tunnel.NewsRefused || news.State == tunnel.NewsCloned {
		level = slog.LevelWarn
	}
	a.log.Log(context.Background(), level, "news of an agent", logkey.Status, string(news.State), logkey.Device,
		news.Device, logkey.Address, news.Address, logkey.Reason, news.Reason)
	a.feed.AgentNews(news.Device, tags, api.AgentEvent{State: string(news.State), Address: news.Address,
		Name: news.Name, Reason: news.Reason})
}

// noteRival records that a second agent connects with the certificate of a device: its key is on two machines.
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
