package notify

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
)

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

// dialer returns a dialer that refuses these addresses; nil refuses none.
func (refuse RefuseIP) dialer() *net.Dialer {
	if refuse == nil {
		return new(net.Dialer)
	}
	return &net.Dialer{Control: refuse.control}
}

// refuse has the webhook send nothing to some addresses. A proxy that the machine names is not among them: it decides
// itself where it connects to.
func (w *Webhook) refuse(refuse RefuseIP) {
	if refuse == nil {
		return
	}
	at, err := url.Parse(w.url)
	if err != nil {
		return // NewWebhook parsed it.
	}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: at}); err == nil && proxy != nil {
		return
	}
	if transport, ok := w.client.Transport.(*http.Transport); ok {
		transport.Proxy, transport.DialContext = nil, refuse.dialer().DialContext
	}
}
