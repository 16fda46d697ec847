package discovery

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	announcementLife = 90 * time.Second // Syncthing repeats it every 30 s
	maxStrangers     = 4096             // devices for which nobody looks and whose announcements are kept
	maxHeard         = 8                // announcements of one device that are kept
	maxOfSender      = 2                // announcements of one device that may come from one sender
	maxPacketBytes   = 64 << 10
	listenAgain      = time.Minute
	pruneEvery       = time.Second
)

// announcements were heard on the local network lately. Anybody there can announce anything.
type announcements struct {
	allowLocal bool
	now        func() time.Time
	wanted     func(fleet.DeviceID) bool

	mu     sync.Mutex // guards what follows
	heard  map[fleet.DeviceID][]announcement
	pruned time.Time // time of the last removal of devices that fell silent
}

type announcement struct {
	at        time.Time
	from      netip.Addr
	addresses []syncAddress
}

// about returns the addresses that were announced for a device, the latest first.
func (l *announcements) about(id fleet.DeviceID) []syncAddress {
	l.mu.Lock()
	defer l.mu.Unlock()
	var addresses []syncAddress
	for _, a := range slices.Backward(l.heard[id]) {
		if l.now().Sub(a.at) < announcementLife {
			addresses = append(addresses, a.addresses...)
		}
	}
	return addresses
}

// hear adds the announcement in one packet.
func (l *announcements) hear(packet []byte, from netip.Addr) {
	id, texts, err := parseAnnouncement(packet)
	if err != nil {
		return
	}
	from = from.Unmap()
	usable, _ := parseAddresses(texts, from, l.allowLocal)
	if len(usable) == 0 {
		return
	}
	wanted := l.wanted(id)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.heard == nil {
		l.heard = map[fleet.DeviceID][]announcement{}
	}
	if _, known := l.heard[id]; !known && !wanted && !l.room() {
		return
	}
	l.heard[id] = latest(append(l.heard[id], announcement{l.now(), from, usable}))
}

// latest drops the announcements that the last one replaces: the same one, and the oldest beyond the bounds. A
// sender's address can be forged, so two different announcements of one sender are both kept.
func latest(all []announcement) []announcement {
	last := all[len(all)-1]
	all = slices.DeleteFunc(all[:len(all)-1], func(a announcement) bool {
		return a.from == last.from && slices.Equal(a.addresses, last.addresses)
	})
	ofSender := func(a announcement) bool { return a.from == last.from }
	if count(all, ofSender) >= maxOfSender {
		oldest := slices.IndexFunc(all, ofSender)
		all = slices.Delete(all, oldest, oldest+1)
	}
	if len(all) >= maxHeard {
		all = slices.Delete(all, 0, len(all)-maxHeard+1)
	}
	return append(all, last)
}

func count(all []announcement, matches func(announcement) bool) int {
	n := 0
	for _, a := range all {
		if matches(a) {
			n++
		}
	}
	return n
}

// room reports whether one more device can be kept, after devices that fell silent were removed. The caller holds mu.
func (l *announcements) room() bool {
	if len(l.heard) < maxStrangers {
		return true
	}
	if l.now().Sub(l.pruned) < pruneEvery { // A flood of strangers therefore does not cost a walk each.
		return false
	}
	l.pruned = l.now()
	for id, all := range l.heard {
		if l.now().Sub(all[len(all)-1].at) >= announcementLife {
			delete(l.heard, id)
		}
	}
	return len(l.heard) < maxStrangers
}

// listen hears announcements until ctx ends. It hears IPv4 broadcasts only: announcements by IPv6 come from
// link-local addresses, at which no device may be, and name nothing that the broadcasts do not.
func (d *Discovery) listen(ctx context.Context) {
	warned := false
	for ctx.Err() == nil {
		config := net.ListenConfig{Control: shareAddress}
		socket, err := config.ListenPacket(ctx, "udp4", ":"+strconv.Itoa(d.localPort))
		if err == nil {
			warned = false
			err = d.hear(ctx, socket)
		}
		if err != nil && ctx.Err() == nil && !warned {
			warned = true
			d.log.Warn("local announcements are not heard", slog.Int(logkey.Address, d.localPort), logkey.Err(err))
		}
		wait(ctx, listenAgain)
	}
}

// hear reads from the socket until ctx ends or the socket breaks, and closes it.
func (d *Discovery) hear(ctx context.Context, socket net.PacketConn) error {
	stop := context.AfterFunc(ctx, func() { _ = socket.Close() })
	defer stop()
	defer func() { _ = socket.Close() }()
	buffer := make([]byte, maxPacketBytes)
	for {
		n, from, err := socket.ReadFrom(buffer)
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		if udp, ok := from.(*net.UDPAddr); ok {
			d.local.hear(buffer[:n], udp.AddrPort().Addr())
		}
	}
}

func wait(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
