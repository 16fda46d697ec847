// Package outbound has what requests to receivers outside have in common: which addresses are refused, what an answer
// says about the next attempt, and what of an address or answer nobody may see.
package outbound

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// RefuseIP tells why nothing is sent to an address, "" where it may be sent. Nil refuses no address.
type RefuseIP func(ip netip.Addr) string

// RefusedError says that nothing is sent to an address.
type RefusedError struct{ Address, Reason string }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("nothing is sent to %s: it is %s", e.Address, e.Reason)
}

// control refuses connections to some addresses. It sees the address after the name was resolved, so no name leads to
// an address that is refused.
func (refuse RefuseIP) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if why := refuse(at.Addr().Unmap()); why != "" {
		return &RefusedError{Address: at.Addr().String(), Reason: why}
	}
	return nil
}

const dialLimit = 15 * time.Second

// Dialer returns a dialer that refuses these addresses.
func (refuse RefuseIP) Dialer() *net.Dialer {
	d := &net.Dialer{Timeout: dialLimit}
	if refuse != nil {
		d.Control = refuse.control
	}
	return d
}

// Protect has a transport connect to none of these addresses for requests to a URL. A proxy that the machine names is
// not among them: it decides itself where it connects to.
func (refuse RefuseIP) Protect(transport *http.Transport, to *url.URL) {
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: to}); err == nil && proxy != nil {
		refuse = nil
	}
	if refuse != nil {
		transport.Proxy = nil
	}
	transport.DialContext = refuse.Dialer().DialContext
}

// RetryAfter returns for how long the header Retry-After asks to wait, or 0. A number of seconds counts up to a day.
func RetryAfter(header http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(seconds, 0), 86400)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return at.Sub(now)
	}
	return 0
}

// WithoutURL removes the URL, which may contain a secret, from an error of an HTTP client.
func WithoutURL(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// ShortestSecret is from how many bytes on a part of an address or a header counts as a secret.
const ShortestSecret = 6

// WithoutSecrets returns the text with each secret in it replaced. Those that are shorter than ShortestSecret stay.
func WithoutSecrets(text string, secrets []string) string {
	for _, secret := range secrets {
		if len(secret) >= ShortestSecret {
			text = strings.ReplaceAll(text, secret, "[secret]")
		}
	}
	return text
}
