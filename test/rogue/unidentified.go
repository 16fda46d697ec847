package rogue

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"muster/internal/adapter/tunnel"
)

const (
	unidentifiedAtOnce  = 1000 // connections that are held
	unidentifiedSources = 64   // addresses from which they come
	unidentifiedTimeout = 5 * time.Second
)

// kinds are what unidentified clients do: of ten, two hold their connection as long as they may.
var kinds = [10]func(context.Context, net.Conn){saysNothing, saysHalf, hasNoCertificate, hasNoCertificate,
	hasNoCertificate, hasNoCertificate, hasNoCertificate, hasNoCertificate, hasNoCertificate, hasNoCertificate}

// OpenUnidentified opens connections that prove no device, so many a second, from many addresses of loopback, until ctx
// ends. It gives how many there were.
func OpenUnidentified(ctx context.Context, server string, perSecond int) int64 {
	pace, places := rate.NewLimiter(rate.Limit(perSecond), perSecond/10+1), make(chan struct{}, unidentifiedAtOnce)
	var made atomic.Int64
	var all sync.WaitGroup
	defer all.Wait()
	for n := 0; pace.Wait(ctx) == nil; n++ {
		select {
		case places <- struct{}{}:
		default:
			n-- // the server holds all of them; the next ones would wait in the kernel's queue
			continue
		}
		source := net.IPv4(127, 77, 0, byte(1+n%unidentifiedSources))
		all.Go(func() {
			defer func() { <-places }()
			dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: source}, Timeout: unidentifiedTimeout}
			conn, err := dialer.DialContext(ctx, "tcp", server)
			if err != nil {
				return
			}
			defer conn.Close()
			made.Add(1)
			_ = conn.SetDeadline(time.Now().Add(unidentifiedTimeout))
			kinds[n%len(kinds)](ctx, conn)
		})
	}
	return made.Load()
}

// saysNothing waits until the server closes the connection.
func saysNothing(ctx context.Context, conn net.Conn) {
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_, _ = io.Copy(io.Discard, conn)
}

// saysHalf begins a handshake and does not go on.
func saysHalf(ctx context.Context, conn net.Conn) {
	_, _ = conn.Write([]byte{22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3})
	saysNothing(ctx, conn)
}

// hasNoCertificate makes a handshake as agents do, and proves nothing.
func hasNoCertificate(ctx context.Context, conn net.Conn) {
	secured := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{tunnel.ALPN},
		MinVersion: tls.VersionTLS13})
	if secured.HandshakeContext(ctx) == nil {
		_, _ = io.Copy(io.Discard, secured)
	}
}
