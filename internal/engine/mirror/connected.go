package mirror

import (
	"context"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// To whom a daemon is connected is read at first contact, and followed by its events from then on. It is read again
// with the next status where events are missing, and after a disconnection: a daemon may have several connections to
// another one (since 2.0), of which the event does not say whether it was the last.

// readConnected reads to whom the daemon is connected. A daemon that fails to answer is followed all the same.
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

// applyPeerEvents applies the events about connections of the daemon.
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
