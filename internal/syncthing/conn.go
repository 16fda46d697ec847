package syncthing

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"muster/internal/fleet"
)

const (
	apiKeyHeader   = "X-API-Key"
	deviceIDHeader = "X-Syncthing-Id"
	readAhead      = 1 << 10 // headers are small, bodies are read past the buffer
)

// conn is one HTTP/1.1 connection. net/http's own would cost two more goroutines and twice the memory for each of the
// thousands of polls that hang here most of the time.
type conn struct {
	tunnel     http.RoundTripper // nil: it is direct; else there is nothing of the next four
	tcp        net.Conn          // below TLS
	stream     net.Conn          // what requests go through: TLS, or tcp itself
	meter      *meter
	reader     *bufio.Reader
	host       string            // of the Host header
	shown      fleet.Certificate // of the GUI; zero in plain HTTP
	identified bool              // myID was right behind this certificate, or on this very connection
	broken     bool              // or not to be kept
	lastUsed   time.Time
}

func newConn(tcp, stream net.Conn, host string, shown fleet.Certificate) *conn {
	m := &meter{source: stream}
	return &conn{tcp: tcp, stream: stream, meter: m, reader: bufio.NewReaderSize(m, readAhead), host: host, shown: shown}
}

// close ends the connection without the last message of TLS: nothing is under way that it would tell apart from an
// answer that was cut.
func (cn *conn) close() {
	cn.broken = true
	if cn.tcp != nil {
		_ = cn.tcp.Close()
	}
}

// shortReads is a connection below TLS, which keeps a buffer for what it read at once, grown as that grows, for as long
// as it lives: 28 KiB for each of the polls that hang, instead of 12.
type shortReads struct{ net.Conn }

const shortRead = 4 << 10

func (c shortReads) Read(p []byte) (int, error) { return c.Conn.Read(p[:min(len(p), shortRead)]) }

// meter bounds how many bytes may be read before the bound is raised: textproto reads a header of any length.
type meter struct {
	source io.Reader
	left   int64 // negative: no bound
}

var errHeaderTooLong = errors.New("the header is too long")

func (m *meter) Read(p []byte) (int, error) {
	if m.left < 0 {
		return m.source.Read(p)
	}
	if m.left == 0 {
		return 0, errHeaderTooLong
	}
	n, err := m.source.Read(p[:min(int64(len(p)), m.left)])
	m.left -= int64(n)
	return n, err
}

// reply is an answer as it came, before anybody judged it.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// staleError is a failure before the first byte of an answer: on a reused connection the daemon had closed it.
type staleError struct{ error }

func (e staleError) Unwrap() error { return e.error }

func isStale(err error) bool {
	var stale staleError
	return errors.As(err, &stale)
}

// roundTrip sends a request and reads the whole answer within the limits. Any failure leaves the connection broken.
func (cn *conn) roundTrip(ctx context.Context, k call, key fleet.Secret, l Limits, big chan struct{}) (reply, error) {
	if err := ctx.Err(); err != nil {
		return reply{}, interrupted(ctx) // nothing sent: the connection is still good
	}
	if cn.tunnel != nil {
		return cn.throughTunnel(ctx, k, l, big)
	}
	stop := context.AfterFunc(ctx, func() { _ = cn.tcp.Close() })
	defer stop()
	kept := false
	defer func() { cn.broken = cn.broken || !kept }()

	_ = cn.tcp.SetDeadline(time.Now().Add(l.Answer + k.wait))
	if _, err := cn.stream.Write(cn.request(k, key)); err != nil {
		return reply{}, cn.trouble(ctx, k, staleError{err})
	}
	// closing would read a body without end to its end; the connection is ours
	response, err := cn.readHeader(k, l) //nolint:bodyclose
	if err != nil {
		return reply{}, cn.trouble(ctx, k, err)
	}
	_ = cn.tcp.SetWriteDeadline(time.Time{})
	body, err := readBody(ctx, response, k, l, patience{cn.tcp, big})
	if err != nil {
		return reply{}, cn.trouble(ctx, k, err)
	}
	cn.lastUsed = time.Now()
	kept = !response.Close && cn.reader.Buffered() == 0 && stop()
	return reply{response.StatusCode, response.Header, body}, nil
}

func (cn *conn) request(k call, key fleet.Secret) []byte {
	b := make([]byte, 0, 512+len(k.path)+len(k.body))
	b = append(b, k.method+" "+k.path+" HTTP/1.1\r\nHost: "+cn.host+"\r\nUser-Agent: muster\r\n"+
		"Accept: application/json\r\nAccept-Encoding: identity\r\n"...)
	if !k.keyless {
		b = append(b, apiKeyHeader+": "+key.Reveal()+"\r\n"...)
	}
	if k.body != nil {
		b = append(b, "Content-Type: application/json\r\n"...)
	}
	if k.writes() {
		b = append(b, "Content-Length: "+strconv.Itoa(len(k.body))+"\r\n"...)
	}
	return append(append(b, "\r\n"...), k.body...)
}

func (cn *conn) readHeader(k call, l Limits) (*http.Response, error) {
	cn.meter.left = l.HeaderBytes
	defer func() { cn.meter.left = -1 }()
	if _, err := cn.reader.Peek(1); err != nil {
		return nil, staleError{err}
	}
	for range 5 { // provisional answers, of which a daemon sends none
		response, err := http.ReadResponse(cn.reader, &http.Request{Method: k.method})
		if err != nil {
			return nil, notHTTP(err)
		}
		if response.StatusCode >= 200 {
			return response, nil
		}
		if response.StatusCode == http.StatusSwitchingProtocols {
			break
		}
	}
	return nil, unbelievable("it answers with nothing but provisional answers")
}

func notHTTP(err error) error {
	var network net.Error
	switch {
	case errors.Is(err, errHeaderTooLong):
		return unbelievable("the header of its answer is too long")
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return err
	}
	return unbelievableBecause("its answer is not HTTP", err)
}
