package discovery

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"muster/internal/fleet"
)

// packet is what a daemon sends: magic, ID, addresses, the number of its run.
func packet(name string, addresses ...string) []byte {
	id := sha256.Sum256([]byte(name))
	p := binary.BigEndian.AppendUint32(nil, magic)
	p = append(append(p, 1<<3|2, 32), id[:]...)
	for _, a := range addresses {
		p = append(binary.AppendUvarint(append(p, 2<<3|2), uint64(len(a))), a...)
	}
	return binary.AppendUvarint(append(p, 3<<3), 1<<62)
}

func TestAnnouncementsAreRead(t *testing.T) {
	whole := packet("a", "tcp://:22000", "quic://192.0.2.1:22000")
	id, got, err := parseAnnouncement(whole)
	if err != nil || id != deviceOf("a").ID || !slices.Equal(got, []string{"tcp://:22000", "quic://192.0.2.1:22000"}) {
		t.Fatalf("got %s %v, %v", id, got, err)
	}
	// Fields that a later version may add are skipped: number 9 as varint, 64 bits, bytes, 32 bits.
	later := slices.Concat(whole, []byte{9 << 3, 0x96, 1}, []byte{9<<3 | 1, 1, 2, 3, 4, 5, 6, 7, 8},
		[]byte{9<<3 | 2, 3, 'a', 'b', 'c'}, []byte{9<<3 | 5, 1, 2, 3, 4})
	if id, got, err := parseAnnouncement(later); err != nil || id != deviceOf("a").ID || len(got) != 2 {
		t.Errorf("with unknown fields: %s %v, %v", id, got, err)
	}
	many := packet("a", slices.Repeat([]string{"tcp://192.0.2.1:1"}, 3000)...)
	if _, got, err := parseAnnouncement(many); err != nil || len(got) != maxAddresses {
		t.Errorf("%d of 3000 addresses, %v; want %d", len(got), err, maxAddresses)
	}
}

func TestBrokenAnnouncementsAreRefused(t *testing.T) {
	whole := packet("a", "tcp://:22000")
	refused := map[string][]byte{
		"nothing":          nil,
		"short":            {0x2e, 0xa7},
		"old magic":        append([]byte{0x7d, 0x79, 0xbc, 0x40}, whole[4:]...),
		"magic only":       whole[:4],
		"no id":            append(slices.Clone(whole[:4]), whole[38:]...),
		"id of 31 bytes":   append(append(slices.Clone(whole[:4]), 1<<3|2, 31), whole[6:37]...),
		"id as a number":   append(slices.Clone(whole[:4]), 1<<3, 7),
		"field 0":          append(slices.Clone(whole), 2, 0),
		"a group":          append(slices.Clone(whole), 9<<3|3),
		"endless number":   append(slices.Clone(whole), bytes.Repeat([]byte{0xff}, 20)...),
		"length beyond":    append(slices.Clone(whole), 2<<3|2, 200, 1, 'x'),
		"length overflows": append(slices.Clone(whole), 2<<3|2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1),
		"cut in 64 bits":   append(slices.Clone(whole), 9<<3|1, 1, 2),
		"cut in 32 bits":   append(slices.Clone(whole), 9<<3|5, 1, 2),
	}
	for cut := 5; cut < 38; cut++ { // before the ID is complete
		refused[fmt.Sprintf("cut at %d", cut)] = whole[:cut]
	}
	for name, p := range refused {
		if id, got, err := parseAnnouncement(p); err == nil {
			t.Errorf("%s: got %s %v", name, id, got)
		}
	}
}

func TestAnUnspecifiedHostIsTheSender(t *testing.T) {
	d, _ := newDiscovery(t, Options{Servers: []string{silentServer(t)}, LocalPort: 21027})
	d.local.hear(packet("a", "tcp://0.0.0.0:22001", "tcp6://:22002", "quic://[::]:22001", "relay://192.0.2.9:443"),
		netip.MustParseAddr("::ffff:192.168.1.7"))
	got := mustResolve(t, d, deviceOf("a"))
	want := []string{"quic://192.168.1.7:22001", "tcp://192.168.1.7:22001"}
	if got.Host != "192.168.1.7" || got.By != ByLocal || !slices.Equal(got.SyncAddresses, want) {
		t.Errorf("got %+v", got)
	}
}

func TestAnnouncementsExpireAndStrangersAreBounded(t *testing.T) {
	d, clock := newDiscovery(t, Options{Servers: []string{silentServer(t)}, LocalPort: 21027})
	sender := netip.MustParseAddr("192.168.1.7")
	for i := range 2 * maxStrangers {
		d.local.hear(packet(fmt.Sprint(i), "tcp://:22000"), sender)
	}
	if got := len(d.local.heard); got != maxStrangers {
		t.Fatalf("%d strangers are kept, want %d", got, maxStrangers)
	}
	mustNotFind(t, d, deviceOf("wanted"))
	d.local.hear(packet("wanted", "tcp://:22000"), sender) // there is always room for whom somebody wants
	mustResolve(t, d, deviceOf("wanted"))
	clock.forward(announcementLife)
	mustNotFind(t, d, deviceOf("wanted"))
	d.local.hear(packet("stranger", "tcp://:22000"), sender)
	if got := len(d.local.heard); got != 1 {
		t.Errorf("%d devices are kept after all fell silent, want the one heard since", got)
	}
}

func TestOneSenderCannotPushOutAnother(t *testing.T) {
	d, clock := newDiscovery(t, Options{Servers: []string{silentServer(t)}, LocalPort: 21027})
	device := deviceOf("a")
	d.local.hear(packet("a", "tcp://:22000"), netip.MustParseAddr("192.168.1.7"))
	for i := range 100 {
		d.local.hear(packet("a", fmt.Sprintf("tcp://192.0.2.%d:22000", i)), netip.MustParseAddr("192.168.1.66"))
	}
	var hosts []string
	for range 1 + maxOfSender {
		hosts = append(hosts, mustResolve(t, d, device).Host)
		clock.forward(time.Second)
	}
	if !slices.Contains(hosts, "192.168.1.7") || !slices.Contains(hosts, "192.0.2.99") {
		t.Errorf("got %v", hosts)
	}
}

// The sender of a UDP packet is easily forged: the device's own announcement was lost when another one followed that
// named its sender.
func TestAForgedSenderDoesNotReplaceTheDevicesOwnAnnouncement(t *testing.T) {
	d, clock := newDiscovery(t, Options{Servers: []string{silentServer(t)}, LocalPort: 21027})
	sender := netip.MustParseAddr("192.168.1.7")
	var hosts []string
	for range 3 {
		d.local.hear(packet("a", "tcp://:22000"), sender)
		d.local.hear(packet("a", "tcp://192.0.2.66:22000"), sender)
		hosts = append(hosts, mustResolve(t, d, deviceOf("a")).Host)
		clock.forward(time.Second)
	}
	if !slices.Contains(hosts, "192.168.1.7") || !slices.Contains(hosts, "192.0.2.66") {
		t.Errorf("got %v", hosts)
	}
}

func TestAnnouncementsAreHeardOverUDP(t *testing.T) {
	d, _ := newDiscovery(t, Options{Servers: []string{silentServer(t)}, AllowLocal: true, LocalPort: 21027})
	socket, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.hear(ctx, socket) }()
	sender, err := net.Dial("udp4", socket.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	tick, deadline := time.NewTicker(10*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for len(d.local.about(deviceOf("a").ID)) == 0 {
		if _, err := sender.Write(packet("a", "tcp://0.0.0.0:22005")); err != nil {
			t.Fatal(err)
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the announcement was not heard in 30 s")
		}
	}
	got := mustResolve(t, d, deviceOf("a"))
	if got.Host != "127.0.0.1" || got.By != ByLocal || !slices.Equal(got.SyncAddresses,
		[]string{"tcp://127.0.0.1:22005"}) {
		t.Errorf("got %+v", got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("hearing ended with %v", err)
	}
}

func TestAPortThatIsTakenIsAWarningAndNoFailure(t *testing.T) {
	taken, err := net.ListenPacket("udp4", ":0") // without the options that let others share it
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	log := &lines{arrived: make(chan struct{}, 10)}
	d, err := New(Options{Servers: []string{"https://discovery.example.org/"},
		LocalPort: taken.LocalAddr().(*net.UDPAddr).Port,
		Log:       slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	<-log.arrived
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Run ended with %v", err)
	}
	if text := log.String(); !strings.Contains(text, "level=WARN") ||
		!strings.Contains(text, "local announcements are not heard") {
		t.Errorf("logged %q", text)
	}
}

// lines is a log that says when a line arrived.
type lines struct {
	arrived chan struct{}
	mu      sync.Mutex
	text    strings.Builder
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.arrived <- struct{}{}
	return l.text.Write(line)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func FuzzParseAnnouncement(f *testing.F) {
	f.Add(packet("a", "tcp://:22000", "quic://192.0.2.1:22000"))
	f.Add(packet("b"))
	f.Add([]byte{0x2e, 0xa7, 0xd9, 0x0b, 0x0a, 0x20})
	f.Fuzz(func(t *testing.T, p []byte) {
		id, addresses, err := parseAnnouncement(p)
		if err != nil {
			return
		}
		if parsed, err := fleet.ParseDeviceID(string(id)); err != nil || parsed != id {
			t.Errorf("accepted with ID %q", id)
		}
		if len(addresses) > maxAddresses {
			t.Errorf("%d addresses", len(addresses))
		}
	})
}

// Anybody can announce a device on the local network. Where nothing is pinned, what a discovery server says comes
// first, and only that introduces the device.
func TestOnlyADiscoveryServerIntroducesADevice(t *testing.T) {
	s := newLookupServer(t, addresses("tcp://192.0.2.1:22000"))
	for name, at := range map[string]string{"pinned": s.pinned(), "insecure": s.URL + "/v2/?insecure"} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			d, clock := newDiscovery(t, Options{Servers: []string{at}, LocalPort: 21027,
				Log: slog.New(slog.NewTextHandler(&log, nil))})
			if warned := strings.Contains(log.String(), "not verified"); warned != (name == "insecure") {
				t.Errorf("logged %q", log.String())
			}
			device := deviceOf("a")
			d.local.hear(packet("a", "tcp://198.51.100.7:22000"), netip.MustParseAddr("198.51.100.7"))
			for range 5 {
				got, err := d.Resolve(context.Background(), device, false, nil)
				if err != nil || got.Host != "192.0.2.1" || got.Introduced != fleet.ByServer {
					t.Fatalf("got %+v, %v", got, err)
				}
				clock.forward(time.Second)
			}
			hosts := map[string]fleet.Introduction{}
			for range 5 {
				got := mustResolve(t, d, device)
				hosts[got.Host] = got.Introduced
				clock.forward(time.Second)
			}
			if len(hosts) != 2 || hosts["198.51.100.7"] != fleet.ByAnybody || hosts["192.0.2.1"] != fleet.ByServer {
				t.Errorf("with a pin: %v", hosts)
			}
			silent, _ := newDiscovery(t, Options{Servers: []string{silentServer(t)}, LocalPort: 21027})
			silent.local.hear(packet("a", "tcp://198.51.100.7:22000"), netip.MustParseAddr("198.51.100.7"))
			if got, err := silent.Resolve(context.Background(), device, false, nil); err != nil ||
				got.Introduced != fleet.ByAnybody {
				t.Errorf("without the server: %+v, %v", got, err)
			}
		})
	}
}
