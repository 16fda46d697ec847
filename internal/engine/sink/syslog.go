package sink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"muster/internal/fleet"
)

// The facilities of RFC 5424.
const (
	facilityAudit  = 13
	facilityLocal0 = 16
)

// syslog sends messages of RFC 5424 over TCP, with the frames of RFC 6587, or over TLS (RFC 5425). The protocol has no
// answers. What was sent last is sent again when the connection turns out to have ended, since nobody knows whether it
// arrived.
type syslog struct {
	dialer  *net.Dialer
	address string // HOST:PORT
	secure  bool
	host    string // own name

	connection net.Conn // nil: none
	last       []byte   // the batch that was sent last
}

func newSyslog(sink fleet.Sink, dialer *net.Dialer) (*syslog, error) {
	at, err := url.Parse(sink.Address)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil || host == "" || strings.ContainsAny(host, " \t") {
		host = "-"
	}
	return &syslog{dialer: dialer, address: at.Host, secure: at.Scheme == "tls", host: host}, nil
}

func (s *syslog) send(ctx context.Context, records []record) ([]refusal, error) {
	var batch []byte
	for _, r := range records {
		message := s.message(r)
		batch = fmt.Appendf(batch, "%d %s", len(message), message)
	}
	if s.connection != nil && s.ended() {
		s.drop()
	}
	text := batch
	if s.connection == nil {
		if err := s.connect(ctx); err != nil {
			return nil, err
		}
		text = append(append([]byte(nil), s.last...), batch...)
	}
	deadline, _ := ctx.Deadline()
	if err := s.connection.SetWriteDeadline(deadline); err != nil {
		return nil, err
	}
	connection := s.connection // a server that reads nothing keeps no end of Muster waiting
	defer context.AfterFunc(ctx, func() { _ = connection.SetWriteDeadline(time.Unix(1, 0)) })()
	if _, err := s.connection.Write(text); err != nil {
		s.drop()
		return nil, err
	}
	s.last = batch
	return nil, nil
}

func (s *syslog) message(r record) string {
	facility, severity := facilityLocal0, 6
	if r.stream == fleet.StreamAudit {
		facility = facilityAudit
	}
	if r.level == levelWarning {
		severity = 4
	}
	return fmt.Sprintf("<%d>1 %s %s muster - %s - %s", facility*8+severity,
		r.at.UTC().Format("2006-01-02T15:04:05.000Z"), s.host, r.stream, r.json)
}

// ended reports whether the server closed the connection. It never writes, so a read ends at once or at the deadline.
func (s *syslog) ended() bool {
	if err := s.connection.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		return true
	}
	_, err := s.connection.Read(make([]byte, 1))
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

func (s *syslog) connect(ctx context.Context) (err error) {
	if !s.secure {
		s.connection, err = s.dialer.DialContext(ctx, "tcp", s.address)
		return explained(err)
	}
	secure := &tls.Dialer{NetDialer: s.dialer, Config: &tls.Config{MinVersion: tls.VersionTLS12}}
	s.connection, err = secure.DialContext(ctx, "tcp", s.address)
	return explained(err)
}

func (s *syslog) drop() {
	if s.connection != nil {
		_ = s.connection.Close()
		s.connection = nil
	}
}

func (s *syslog) close() { s.drop() }
