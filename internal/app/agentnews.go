package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"muster/api"
	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/tunnel"
)

// How often what becomes of agents is told, in the events and in the log. What is left out is counted.
const (
	newsOfDevice      = 4 // of one registered device at once
	newsOfDeviceEach  = 20 * time.Second
	newsOfOthers      = 50 // of all devices that are not registered
	newsOfOthersEach  = time.Second
	newsLeftOutLogged = time.Minute
)

// newsLimit keeps agents that come and go from filling the events and the log.
type newsLimit struct {
	mu       sync.Mutex // guards what follows
	ofDevice map[fleet.DeviceID]*rate.Limiter
	others   *rate.Limiter
	leftOut  int
	loggedAt time.Time
}

func newNewsLimit() *newsLimit {
	return &newsLimit{ofDevice: map[fleet.DeviceID]*rate.Limiter{},
		others: rate.NewLimiter(rate.Every(newsOfOthersEach), newsOfOthers)}
}

// admit tells whether news may be told, where the device is one of so many that are registered (0: it is not), and
// gives how many were left out, once in a while.
func (l *newsLimit) admit(id fleet.DeviceID, registered int, now time.Time) (told bool, leftOut int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit := l.others
	if registered > 0 {
		if limit = l.ofDevice[id]; limit == nil {
			if len(l.ofDevice) > registered {
				clear(l.ofDevice) // it has devices that are registered no more
			}
			limit = rate.NewLimiter(rate.Every(newsOfDeviceEach), newsOfDevice)
			l.ofDevice[id] = limit
		}
	}
	if told = limit.AllowN(now, 1); !told {
		l.leftOut++
	}
	if l.leftOut > 0 && now.Sub(l.loggedAt) >= newsLeftOutLogged {
		leftOut, l.leftOut, l.loggedAt = l.leftOut, 0, now
	}
	return told, leftOut
}

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
	told, leftOut := a.news.admit(news.Device, registered, time.Now())
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
