package mirror

import (
	"context"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// At first contact the watcher reads to which peers a daemon is connected. From then on it follows events. It reads
// the peers again, together with the next status, if events are missing, and after each disconnection: since Syncthing
// 2.0 two daemons may have several connections, and the event does not say whether the last one ended.

// readConnected reads to which peers the daemon is connected. If the daemon does not answer this, the watcher goes on
// following it.
func (w *watcher) readConnected(ctx context.Context, d Daemon) error {
	connected, err := d.ConnectedPeers(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.connectedDue = false
	var at time.Time
	if err == nil {
		at = time.Now()
	} else {
		w.log.Info("the daemon's connections were not read", logkey.Err(err))
	}
	w.setConnected(connected, at)
	return nil
}

// applyPeerEvents applies the events about connections between the daemon and its peers.
func (w *watcher) applyPeerEvents(events []fleet.DaemonEvent, gap bool) {
	w.connectedDue = w.connectedDue || gap
	before := w.snapshot.Load()
	connected := before.Connected
	for _, e := range events {
		switch e.Type {
		case "DeviceConnected":
			connected = connected.With(e.Peer)
		case "DeviceDisconnected":
			connected = connected.Without(e.Peer)
			w.connectedDue = true
		}
	}
	if connected != before.Connected {
		w.setConnected(connected, before.ConnectedAt)
	}
}

func (w *watcher) setConnected(connected fleet.Peers, at time.Time) {
	w.update(func(s *Snapshot) Aspect {
		same := s.Connected == connected && s.ConnectedAt.IsZero() == at.IsZero()
		s.Connected, s.ConnectedAt = connected, at
		if same {
			return 0
		}
		return FoldersChanged
	})
}
