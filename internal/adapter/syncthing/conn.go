package syncthing

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"muster/internal/fleet"
)

const (
	apiKeyHeader   = "X-API-Key"
	deviceIDHeader = "X-Syncthing-Id"
	readAhead      = 512 // bytes; headers are small, and bodies are read without this buffer
)

// conn is one HTTP/1.1 connection. Thousands of long polls wait at the same time, and for each of them the client of
// net/http would need two more goroutines and twice the memory.
type conn struct {
	tunnel     http.RoundTripper // nil: a direct connection; otherwise the next four fields are not set
	tcp        net.Conn          // the TCP connection below TLS
	stream     net.Conn          // carries the requests: TLS, or tcp itself
	meter      *meter
	reader     *bufio.Reader
	host       string            // value of the Host header
	shown      fleet.Certificate // certificate of the GUI; zero for plain HTTP
	run        string            // through a tunnel: fleet.DaemonRunHeader of the last status or poll; "": none
	identified bool              // the device ID was right behind this certificate or on this connection
	broken     bool              // the connection failed or must not be kept
	lastUsed   time.Time
}

func newConn(tcp, stream net.Conn, host string, shown fleet.Certificate) *conn {
	m := &meter{source: stream}
	return &conn{tcp: tcp, stream: stream, meter: m, reader: bufio.NewReaderSize(m, readAhead), host: host, shown: shown}
}

// close closes the connection without the closing message of TLS. That message only protects against truncated
// answers, and no answer is being read.
func (cn *conn) close() {
	cn.broken = true
	if cn.tcp != nil {
		_ = cn.tcp.Close()
	}
}

// recordReader is a TCP connection below TLS. Each Read returns bytes of one TLS record only. crypto/tls keeps its
// buffer for the lifetime of the connection, and doubles it when a read also returns the start of the next record.
// That would be 12 to 28 KiB for each waiting long poll. With recordReader the buffer is as large as the largest
// record.
type recordReader struct {
	net.Conn
	header [5]byte // of the current record; the last two bytes are its length
	known  int     // bytes of the header that were read
	left   int     // bytes of the record that were not read
}

func (r *recordReader) Read(p []byte) (int, error) {
	if r.left > 0 {
		n, err := r.Conn.Read(p[:min(len(p), r.left)])
		r.left -= n
		return n, err
	}
	n, err := r.Conn.Read(p[:min(len(p), len(r.header)-r.known)])
	copy(r.header[r.known:], p[:n])
	if r.known += n; r.known == len(r.header) {
		r.known, r.left = 0, int(binary.BigEndian.Uint16(r.header[3:]))
	}
	return n, err
}

// meter limits how many bytes can be read, because textproto reads headers of any length.
type meter struct {
	source io.Reader
	left   int64 // bytes that may still be read; negative: no limit
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

// reply is an answer that was not judged yet.
type reply struct {
	status    int
	deviceIDs []string // values of the header deviceIDHeader
	body      []byte
}

// staleError is a failure before the first byte of an answer: the daemon had closed the reused connection.
type staleError struct{ error }

func (e staleError) Unwrap() error { return e.error }

func isStale(err error) bool {
	var stale staleError
	return errors.As(err, &stale)
}

// roundTrip sends a request and reads the whole answer within the limits. Any failure leaves the connection broken.
func (cn *conn) roundTrip(ctx context.Context, k *call, key fleet.Secret, l *Limits, big chan struct{}) (reply, error) {
	if err := ctx.Err(); err != nil {
		return reply{}, interrupted(ctx) // Nothing was sent, so the connection can still be used.
	}
	if cn.tunnel != nil {
		return cn.throughTunnel(ctx, k, l, big)
	}
	stop := context.AfterFunc(ctx, func() { _ = cn.tcp.Close() })
	defer stop()
	kept := false
	defer func() { cn.broken = cn.broken || !kept }()

	_ = cn.tcp.SetDeadline(time.Now().Add(l.answerTo(k)))
	if _, err := cn.stream.Write(cn.request(k, key)); err != nil {
		return reply{}, cn.trouble(ctx, k, staleError{err})
	}
	// The body is not closed, because Close would read an endless body to its end. The connection belongs to this
	// client.
	response, err := cn.readHeader(k, l) //nolint:bodyclose
	if err != nil {
		return reply{}, cn.trouble(ctx, k, err)
	}
	_ = cn.tcp.SetWriteDeadline(time.Time{})
	answer, err := readReply(ctx, response, k, l, patience{cn.tcp, big})
	if err != nil {
		return reply{}, cn.trouble(ctx, k, err)
	}
	cn.lastUsed = time.Now()
	kept = !response.Close && cn.reader.Buffered() == 0 && stop()
	return answer, nil
}

// readReply reads the body of an answer. By then the request and the header are no longer referenced, so that a
// waiting long poll does not keep them in memory.
func readReply(ctx context.Context, response *http.Response, k *call, l *Limits, p patience) (answer reply, err error) {
	answer.status, answer.deviceIDs = response.StatusCode, slices.Clone(response.Header[deviceIDHeader])
	encoding := response.Header.Get("Content-Encoding")
	response.Header, response.Request = nil, nil
	if encoding != "" && !strings.EqualFold(encoding, "identity") {
		return reply{}, unbelievable("it sends a compressed answer although none was asked for")
	}
	answer.body, err = readBody(ctx, response, k, l, p)
	return answer, err
}

func (cn *conn) request(k *call, key fleet.Secret) []byte {
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

func (cn *conn) readHeader(k *call, l *Limits) (*http.Response, error) {
	cn.meter.left = l.HeaderBytes
	defer func() { cn.meter.left = -1 }()
	if _, err := cn.reader.Peek(1); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, err // The connection works but the daemon does not.
		}
		return nil, staleError{err}
	}
	for range 5 { // skips provisional answers (1xx); daemons send none
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
