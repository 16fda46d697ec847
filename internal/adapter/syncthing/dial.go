package syncthing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"

	"muster/internal/fleet"
)

const (
	syncALPN        = "bep/1.0"
	defaultSyncPort = "22000"
	maxSyncAttempts = 4
)

// open connects, and decides whether the API key may be sent; see prove. The first status then shows whether the
// daemon is the right one.
func (c *Client) open(ctx context.Context) (*conn, error) {
	if c.target.Introduced == fleet.ByAgent {
		return c.openTunnel()
	}
	cn, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.prove(ctx, cn); err != nil {
		cn.close()
		return nil, err
	}
	return cn, nil
}

// connect always tries TLS first, because the API answers TLS with any settings. It uses plain HTTP only on loopback
// and for devices where a person allowed it, and only while no certificate is pinned. So the key is never sent
// unencrypted to a daemon that has shown a certificate before, nor to an address that neither a person nor a discovery
// server gave.
//
// connect tries TLS twice before it concludes that there is none: a daemon that reads nothing for a second treats a
// connection as plain HTTP (1.19.2), and on a busy machine the first message may be late.
func (c *Client) connect(ctx context.Context) (*conn, error) {
	cn, err := c.connectTLS(ctx)
	if speaksNoTLS(err) {
		cn, err = c.connectTLS(ctx)
	}
	var plain *notTLSError
	switch {
	case !errors.As(err, &plain):
		return cn, err
	case c.takesPlain(plain.loopback):
		return c.connectPlain(ctx)
	case plain.closed:
		return nil, closesAtOnce(c.target, c.knownCertificate() != "", err)
	case c.knownCertificate() != "":
		return nil, plainButPinned(c.target, err)
	case c.target.Introduced == fleet.ByAnybody:
		return nil, plainUnconfirmed(c.target, err)
	}
	return nil, plainForbidden(c.target.Address, err)
}

// takesPlain reports whether plain HTTP may be used.
func (c *Client) takesPlain(loopback bool) bool {
	return c.knownCertificate() == "" && c.target.Introduced != fleet.ByAnybody && (c.target.AllowPlain || loopback)
}

// notTLSError says that the peer answered a TLS handshake with something else, or closed the connection.
type notTLSError struct {
	error
	loopback bool
	closed   bool // The peer answered nothing: it may be ending, or a proxy whose daemon is away.
}

func (e *notTLSError) Unwrap() error { return e.error }

func speaksNoTLS(err error) bool {
	var plain *notTLSError
	return errors.As(err, &plain)
}

func (c *Client) connectTLS(ctx context.Context) (*conn, error) {
	cn, err := c.tryTLS(ctx, c.resume)
	// Another connection may have started a session since; that one may be invalid too, so none is used.
	if errors.Is(err, errNotResumed) {
		cn, err = c.tryTLS(ctx, c.handshake)
	}
	return cn, err
}

type handshake func(ctx context.Context, tcp net.Conn, config *tls.Config) (*tls.Conn, error)

func (c *Client) tryTLS(ctx context.Context, shake handshake) (*conn, error) {
	tcp, err := c.dial(ctx, c.target.Address)
	if err != nil {
		return nil, err
	}
	cn, err := c.secure(ctx, tcp, shake)
	if err == nil {
		return cn, nil
	}
	_ = tcp.Close()
	var header tls.RecordHeaderError
	switch {
	case ctx.Err() != nil:
		return nil, interrupted(ctx)
	case errors.Is(err, errNotResumed):
		return nil, err
	case errors.As(err, &header):
		return nil, &notTLSError{error: err, loopback: isLoopback(tcp.RemoteAddr())}
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return nil, &notTLSError{error: err, loopback: isLoopback(tcp.RemoteAddr()), closed: true}
	}
	return nil, unreachable(c.target.Address, err)
}

func (c *Client) connectPlain(ctx context.Context) (*conn, error) {
	tcp, err := c.dial(ctx, c.target.Address)
	if err != nil {
		return nil, err
	}
	// The host name may resolve to another address than before.
	if !c.target.AllowPlain && !isLoopback(tcp.RemoteAddr()) {
		_ = tcp.Close()
		return nil, plainForbidden(c.target.Address, nil)
	}
	return newConn(tcp, tcp, c.hostHeader(tcp), fleet.Certificate{}), nil
}

func (c *Client) dial(ctx context.Context, address string) (net.Conn, error) {
	tcp, err := c.dialer(ctx, "tcp", address)
	switch {
	case err == nil:
		return tcp, nil
	case ctx.Err() != nil:
		return nil, interrupted(ctx)
	}
	if told := (*fleet.Error)(nil); errors.As(err, &told) { // the error of Discovered
		return nil, told
	}
	return nil, unreachable(address, err)
}

func (c *Client) secure(ctx context.Context, tcp net.Conn, shake handshake) (*conn, error) {
	host, _, _ := net.SplitHostPort(c.target.Address)
	config := &tls.Config{
		InsecureSkipVerify: true, // The certificate is self-signed; prove compares its fingerprint.
		ServerName:         host, NextProtos: []string{"http/1.1"}, ClientSessionCache: c.sessions,
	}
	stream, err := shake(ctx, tcp, config)
	if err != nil {
		return nil, err
	}
	// In a resumed session this is the certificate of the first handshake.
	shown := fleet.CertificateOf(stream.ConnectionState().PeerCertificates[0])
	c.mu.Lock()
	c.shown = shown
	c.mu.Unlock()
	return newConn(tcp, stream, c.hostHeader(tcp), shown), nil
}

func (c *Client) handshake(ctx context.Context, tcp net.Conn, config *tls.Config) (*tls.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.limits.Handshake)
	defer cancel()
	stream := tls.Client(&recordReader{Conn: tcp}, config)
	if err := stream.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return stream, nil
}

// hostHeader returns the host of the address, or on loopback its IP, because a daemon that listens on loopback accepts
// only that.
func (c *Client) hostHeader(tcp net.Conn) string {
	if isLoopback(tcp.RemoteAddr()) {
		return tcp.RemoteAddr().String()
	}
	return c.target.Address
}

// prove decides whether the key may be sent. With a pin, a peer that shows the pinned certificate is the device and
// every other peer is not. Without a pin the first certificate is trusted in two cases: a person gave the address, or
// a discovery server gave it and the same host answers as the device on its sync port. The sync port only proves that
// the device can be reached at the host, not which program answers on the port of the API, so it is used for nothing
// else.
func (c *Client) prove(ctx context.Context, cn *conn) error {
	c.mu.Lock()
	pin, verified := c.pin, c.verified
	c.mu.Unlock()
	switch {
	case pin != "" && cn.shown.Fingerprint == pin:
		cn.identified = pin == verified
		return nil
	case pin != "":
		// Another daemon answers; the user is not asked to trust its certificate.
		if err := c.probe(ctx, cn); fleet.CodeOf(err) == fleet.CodeWrongDevice {
			return err
		}
		return wrongPin(c.target, pin, cn.shown)
	case c.target.Introduced == fleet.ByServer:
		if err := c.proveBySyncPort(ctx, cn); err != nil {
			return err
		}
	}
	if err := c.probe(ctx, cn); err != nil {
		return err
	}
	if c.target.Introduced == fleet.ByAnybody {
		return unconfirmed(c.target, cn.shown)
	}
	return c.claim(cn)
}

// claim records that the key may be sent to this certificate on first use. Until that is decided, no connection with
// another certificate gets the key.
func (c *Client) claim(cn *conn) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.pin != "" && c.pin != cn.shown.Fingerprint:
		return wrongPin(c.target, c.pin, cn.shown)
	case c.pin == "" && c.claimed != "" && c.claimed != cn.shown.Fingerprint:
		return wrongPin(c.target, c.claimed, cn.shown)
	}
	c.claimed = cn.shown.Fingerprint
	return nil
}

// release ends a claim when the device did not answer behind its certificate.
func (c *Client) release(cn *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.claimed == cn.shown.Fingerprint {
		c.claimed = ""
	}
}

// knownCertificate returns the fingerprint of the pinned certificate, or of the one that claim recorded, or "".
func (c *Client) knownCertificate() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.pin, c.claimed)
}

func (c *Client) knownPin() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pin
}

// probe sends a first request without the key. A daemon's answer, even a refusal, usually contains its device ID.
func (c *Client) probe(ctx context.Context, cn *conn) error {
	k := &call{method: http.MethodGet, path: probePath, during: "ask who answers", maxBytes: c.limits.SmallBytes,
		keyless: true}
	answer, err := cn.roundTrip(ctx, k, fleet.Secret{}, c.limits, c.big)
	if err != nil {
		return err
	}
	if err := c.checkHeader(answer); err != nil {
		return err
	}
	if err := refusedHost(c.target.Address, answer); err != nil {
		return err
	}
	if answer.status/100 == 3 {
		return ledElsewhere(k.during)
	}
	if cn.broken {
		return unbelievable("it closes the connection after every answer")
	}
	return nil
}

// checkHeader returns an error when the answer has a header with another device ID. An answer without the header
// proves nothing.
func (c *Client) checkHeader(answer reply) error {
	for _, id := range answer.deviceIDs {
		if id == string(c.target.Device) {
			continue
		}
		if found, err := fleet.ParseDeviceID(id); err != nil || found != c.target.Device {
			c.answeredBy(found)
			return wrongDevice(c.target.Device, found)
		}
	}
	return nil
}

// proveBySyncPort connects to the sync protocol on the host that shows the certificate. Only the device has the key of
// a certificate whose hash is its ID. No message of the protocol is sent, so the daemon does not record a device.
func (c *Client) proveBySyncPort(ctx context.Context, cn *conn) error {
	host, _, err := net.SplitHostPort(cn.tcp.RemoteAddr().String())
	if err != nil {
		return err
	}
	last := error(nil)
	for _, port := range c.syncPorts(host) {
		found, err := c.deviceAt(ctx, net.JoinHostPort(host, port))
		switch {
		case err == nil && found == c.target.Device:
			return nil
		case err == nil:
			last = wrongDevice(c.target.Device, found)
		case last == nil:
			last = err
		}
	}
	return unproven(c.target.Address, last)
}

// syncPorts returns the ports of the announced addresses on the host of the API. Relays and QUIC addresses prove
// nothing here.
func (c *Client) syncPorts(remote string) []string {
	apiHost, _, _ := net.SplitHostPort(c.target.Address)
	var ports []string
	for _, announced := range c.target.SyncAddresses {
		u, err := url.Parse(announced)
		if err != nil || (u.Scheme != "tcp" && u.Scheme != "tcp4" && u.Scheme != "tcp6") {
			continue
		}
		if u.Hostname() != apiHost && !sameIP(u.Hostname(), remote) {
			continue
		}
		port := u.Port()
		if port == "" {
			port = defaultSyncPort
		}
		if len(ports) < maxSyncAttempts {
			ports = append(ports, port)
		}
	}
	return ports
}

func sameIP(a, b string) bool {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	return errX == nil && errY == nil && x.Unmap().WithZone("") == y.Unmap().WithZone("")
}

func (c *Client) deviceAt(ctx context.Context, address string) (fleet.DeviceID, error) {
	tcp, err := c.dial(ctx, address)
	if err != nil {
		return "", err
	}
	defer tcp.Close()
	// The handshake proves that the peer has the key of its certificate, also without further verification.
	stream, err := c.handshake(ctx, tcp, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{syncALPN}})
	if err != nil {
		return "", unreachable(address, err)
	}
	if stream.ConnectionState().NegotiatedProtocol != syncALPN {
		return "", fmt.Errorf("what listens at %s does not speak Syncthing's protocol", address)
	}
	return fleet.DeviceIDOf(sha256.Sum256(stream.ConnectionState().PeerCertificates[0].Raw)), nil
}
