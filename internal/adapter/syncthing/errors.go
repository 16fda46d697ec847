package syncthing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"
	"unicode"

	"muster/internal/fleet"
)

const maxQuoted = 300 // bytes of a daemon's own text in a message

var (
	errHostRefused = errors.New("the Host header was refused")
	errFailing     = errors.New("the answer to a read has a status of 500 or more")
)

func interrupted(ctx context.Context) error {
	return &fleet.Error{Code: fleet.CodeUnavailable, Message: "the request was given up", Err: context.Cause(ctx)}
}

// trouble turns the failure of a request into an error for people.
func (cn *conn) trouble(ctx context.Context, k *call, err error) error {
	var told *fleet.Error
	switch {
	case ctx.Err() != nil:
		return interrupted(ctx)
	case errors.As(err, &told):
		told.During = k.during
		return told
	}
	e := &fleet.Error{Code: fleet.CodeUnavailable, During: k.during, Err: err}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		e.Message, e.Hint = "the daemon is too slow: no complete answer within the time limit",
			"Look at the load of its machine and at the network in between."
	case isClosed(err):
		e.Message, e.Hint = "the daemon closed the connection", "It may be restarting; Muster tries again by itself."
	default:
		e.Message, e.Hint = "the connection to the daemon failed", "Muster tries again by itself."
	}
	if k.writes() {
		e.Message += "; whether the change arrived is not known"
	}
	return e
}

// isClosed reports whether the peer closed the connection.
func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

func reconnected(k *call) error {
	return &fleet.Error{Code: fleet.CodeUnavailable, During: k.during, Err: fleet.ErrReconnected,
		Message: "the connection to the daemon was another one, so that the daemon may have been started again",
		Hint:    "Muster contacts it again by itself."}
}

func unreachable(address string, err error) error {
	e := &fleet.Error{Code: fleet.CodeUnavailable, During: "connect to the daemon", Err: err}
	var name *net.DNSError
	switch {
	case errors.As(err, &name):
		e.Message = fmt.Sprintf("the host name in %s is not known", address)
		e.Hint = "Check the device's apiAddress."
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Message = fmt.Sprintf("nothing listens at %s", address)
		e.Hint = "Check that the daemon runs, that its GUI listens on an address that can be reached from here " +
			"(gui.address), and the port."
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		e.Message = fmt.Sprintf("%s does not answer", address)
		e.Hint = "Check that the machine is on and that no firewall is in between."
	default:
		e.Message = fmt.Sprintf("%s cannot be reached", address)
		e.Hint = "Check the device's apiAddress and apiPort and the network in between."
	}
	return e
}

func isTimeout(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}

// closesAtOnce is the error about a peer that closes each connection. certified says whether the device has shown a
// certificate: then plain HTTP is no way to it.
func closesAtOnce(t Target, certified bool, err error) error {
	hint := "The daemon is starting or ending, or a proxy, a forwarded port or a container listens in its place: check " +
		"that the daemon itself runs."
	if !certified && !t.AllowPlain && t.Introduced != fleet.ByAnybody {
		hint += " For a proxy without TLS set allowPlain for this device."
	}
	return &fleet.Error{Code: fleet.CodeUnavailable, During: "connect to the daemon", Err: err, Hint: hint,
		Message: fmt.Sprintf("what listens at %s closes each connection at once", t.Address)}
}

func plainForbidden(address string, err error) error {
	return &fleet.Error{Code: fleet.CodeUnavailable, During: "connect to the daemon", Err: err,
		Message: fmt.Sprintf("%s does not speak TLS, and the API key is not sent in clear", address),
		Hint: "Check the port: Syncthing's API always speaks TLS. For a proxy without TLS set allowPlain for this " +
			"device."}
}

func plainButPinned(t Target, err error) error {
	return &fleet.Error{Code: fleet.CodeWrongPin, During: "connect to the daemon", Err: err,
		Message: fmt.Sprintf("%s no longer speaks TLS, but the device has shown a certificate before", t.Address),
		Hint:    "If this is meant, forget the pin in the device's settings; otherwise somebody else answers there."}
}

func plainUnconfirmed(t Target, err error) error {
	return &fleet.Error{Code: fleet.CodeUnconfirmed, During: "connect to the daemon", Err: err,
		Message: fmt.Sprintf("something at %s is said to be the device, and does not speak TLS: it cannot be confirmed, "+
			"and no API key is sent", t.Address),
		Hint: "Give the device an apiAddress."}
}

func wrongPin(t Target, pinned string, shown fleet.Certificate) error {
	return &fleet.Error{Code: fleet.CodeWrongPin, During: "prove the daemon",
		Message: fmt.Sprintf("what answers at %s shows another certificate (%s) than the pinned one (%s), so no API key "+
			"is sent",
			t.Address, describe(shown), fleet.ShortPin(pinned)),
		Hint: "Syncthing makes itself another one shortly before the old one ends, or when https-cert.pem is missing. If " +
			"that is the reason, " +
			"run `muster enroll` on the daemon's machine, or compare the fingerprint there and take it: " + trustCommand(t) +
			". Otherwise somebody else answers there."}
}

func unconfirmed(t Target, shown fleet.Certificate) error {
	return &fleet.Error{Code: fleet.CodeUnconfirmed, During: "prove the daemon",
		Message: fmt.Sprintf("what answers at %s shows the certificate %s. The address was found on anybody's word, and "+
			"nothing proves that "+
			"the device answers there, so no API key is sent", t.Address, describe(shown)),
		Hint: "Run `muster enroll` on the daemon's machine, or compare the fingerprint there and confirm it: " +
			trustCommand(t) + "."}
}

func describe(c fleet.Certificate) string {
	return fmt.Sprintf("%s, valid from %s to %s", fleet.ShortPin(c.Fingerprint), c.NotBefore.Format(time.DateOnly),
		c.NotAfter.Format(time.DateOnly))
}

func trustCommand(t Target) string { return "`muster device trust " + t.Device.Short() + "`" }

func unproven(address string, err error) error {
	if fleet.CodeOf(err) == fleet.CodeWrongDevice {
		return err
	}
	return &fleet.Error{Code: fleet.CodeUnavailable, During: "prove the daemon", Err: err,
		Message: fmt.Sprintf("nothing proves that the device is at %s: its sync port there could not be asked, so no API "+
			"key is sent", address),
		Hint: "Type the device's apiAddress, or check that its sync port (22000) can be reached from here."}
}

func wrongDevice(want, found fleet.DeviceID) error {
	who := "a daemon with an unreadable ID"
	if found != "" {
		who = string(found)
	}
	return &fleet.Error{Code: fleet.CodeWrongDevice, During: "prove the daemon",
		Message: fmt.Sprintf("%s answers there, not %s", who, want),
		Hint:    "Check the device's apiAddress and apiPort: they lead to another daemon."}
}

func unbelievable(what string) error { return unbelievableBecause(what, nil) }

func unbelievableBecause(what string, err error) *fleet.Error {
	return &fleet.Error{Code: fleet.CodeUnbelievable, Message: "the daemon's answer is not believed: " + what, Err: err,
		Hint: "Check that the address leads to a Syncthing daemon and not to something in front of it."}
}

func tooOld(err error) error {
	return &fleet.Error{Code: fleet.CodeUnsupported, During: "read the configuration", Err: err,
		Message: "this daemon is too old to be managed: it has no /rest/config",
		Hint:    "Update Syncthing to 1.12 or later. Until then Muster mirrors the device and writes nothing."}
}

// refusedHost recognises that a daemon on loopback refused the Host header. It refuses before it checks any key.
func refusedHost(address string, answer reply) error {
	if answer.status != http.StatusForbidden || !bytes.Contains(answer.body, []byte("Host check error")) {
		return nil
	}
	return &fleet.Error{Code: fleet.CodeUnavailable, During: "ask the daemon", Err: errHostRefused,
		Message: fmt.Sprintf("the daemon does not take the host name in %s: its GUI listens on loopback, where it wants "+
			"an IP address or localhost", address),
		Hint: "Use an IP address, let its GUI listen on an address of the network, or set gui.insecureSkipHostcheck on " +
			"the daemon."}
}

func ledElsewhere(during string) error {
	return &fleet.Error{Code: fleet.CodeUnbelievable, During: during,
		Message: "the answer leads somewhere else, and Muster follows no redirects",
		Hint:    "Enter the address where the daemon itself answers."}
}

// judge turns the status of an answer into an error, or nil.
func (c *Client) judge(k *call, answer reply) error {
	if answer.status == http.StatusOK || (k.writes() && answer.status/100 == 2) {
		return nil
	}
	if err := refusedHost(c.target.Address, answer); err != nil {
		return err
	}
	e := &fleet.Error{During: k.during}
	switch said := quote(answer.body); {
	case answer.status == http.StatusUnauthorized, answer.status == http.StatusForbidden:
		e.Code, e.Message = fleet.CodeKeyRefused, "the daemon does not take the API key"
		e.Hint = "Copy the key from the daemon (Actions > Settings > GUI) into the device's apiKey."
	case answer.status/100 == 3:
		return ledElsewhere(k.during)
	case k.writes() && answer.status/100 == 4:
		e.Code, e.Message = fleet.CodeRejected, fmt.Sprintf("the daemon refused the change (%d): %s", answer.status, said)
		e.Hint = "Change the template or the setting that asks for it; repeating it is of no use."
	case answer.status == http.StatusNotFound && k.path != statusPath:
		e.Code, e.Message = fleet.CodeNotFound, "the daemon does not have this: "+said
	case answer.status/100 == 5:
		e.Code, e.Message = fleet.CodeUnavailable, fmt.Sprintf("the daemon could not answer (%d): %s", answer.status, said)
		e.Hint, e.Err = "Look into the daemon's log; Muster tries again by itself.", errFailing
		if k.writes() {
			e.Err = fleet.ErrNotSaved
		}
	default:
		e.Code, e.Message = fleet.CodeUnbelievable, fmt.Sprintf("what answers there is no Syncthing API (%d)", answer.status)
		e.Hint = "Check the device's apiAddress and apiPort."
	}
	return e
}

// quote returns a daemon's own text, shortened and printable.
func quote(text []byte) string {
	text = bytes.TrimSpace(text[:min(len(text), maxQuoted)])
	printable := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(string(text), ""))
	if printable == "" {
		return "no reason given"
	}
	return printable
}
