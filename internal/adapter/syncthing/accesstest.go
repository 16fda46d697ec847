package syncthing

import (
	"context"
	"errors"
	"net"
	"os"
	"regexp"
	"syscall"
	"time"

	"muster/internal/fleet"
)

// testTime limits a whole test of access: a person waits for the result.
const testTime = 20 * time.Second

// testLimits are narrower than those of a device that is followed. A status and the options have a few kilobytes.
var testLimits = Limits{
	Dial: 5 * time.Second, Handshake: 5 * time.Second, Answer: 10 * time.Second, Body: 10 * time.Second,
	Grace: 2 * time.Second, HeaderBytes: 16 << 10, SmallBytes: 256 << 10,
}

// optionsPath is a small part of the configuration. Daemons before 1.12 do not have it, nor /rest/config.
const optionsPath = "/rest/config/options"

// TestAccess tries the address and the API key of a target with the requests of a first contact, and stores nothing.
// The key is sent under the same conditions as to a registered device. An error means that no connection was tried.
func TestAccess(ctx context.Context, t Target, o Options) (fleet.AccessTest, error) {
	ctx, cancel := context.WithTimeout(ctx, testTime)
	defer cancel()
	o.Limits = testLimits
	c := New(t, o)
	defer c.Close()
	dialled, connected, dial := false, false, c.dialer
	c.dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled = true
		tcp, err := dial(ctx, network, address)
		connected = connected || err == nil
		return tcp, err
	}
	version, err := c.firstContact(ctx)
	if err != nil && !dialled {
		return fleet.AccessTest{}, err
	}
	found := fleet.AccessTest{Problem: accessProblem(err, connected), Other: c.otherDevice(), Version: version}
	found.Shown, _ = c.Shown()
	return found, nil
}

// firstContact sends the requests of a test, and returns the version.
func (c *Client) firstContact(ctx context.Context) (version string, err error) {
	s, err := c.Session(ctx)
	if err != nil {
		return "", err
	}
	defer s.Close()
	if _, err := s.Status(ctx); err != nil {
		return "", err
	}
	told, err := s.Version(ctx)
	if err != nil {
		return "", err
	}
	_, err = s.get(ctx, optionsPath, "read the options")
	if fleet.CodeOf(err) == fleet.CodeNotFound {
		err = tooOld(err)
	}
	return plainVersion.FindString(told.Version), err
}

// answeredBy records which other device answered.
func (c *Client) answeredBy(found fleet.DeviceID) {
	c.mu.Lock()
	c.other = found
	c.mu.Unlock()
}

// otherDevice returns the device that answered in place of the target, or "".
func (c *Client) otherDevice() fleet.DeviceID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.other
}

// plainVersion matches the versions of releases, in which nobody can hide a text.
var plainVersion = regexp.MustCompile(`^v\d{1,4}\.\d{1,4}\.\d{1,6}(-rc\.\d{1,3})?`)

// problemOfCode are the problems that the code of an error tells.
var problemOfCode = map[fleet.Code]fleet.AccessProblem{
	fleet.CodeWrongDevice: fleet.AccessOtherDevice, fleet.CodeWrongPin: fleet.AccessOtherCertificate,
	fleet.CodeKeyRefused: fleet.AccessKeyRefused, fleet.CodeUnsupported: fleet.AccessTooOld,
	fleet.CodeUnbelievable: fleet.AccessNotSyncthing, fleet.CodeNotFound: fleet.AccessNotSyncthing,
}

// accessProblem returns what an error means. connected says whether something accepted a connection.
func accessProblem(err error, connected bool) fleet.AccessProblem {
	var (
		plain *notTLSError
		name  *net.DNSError
	)
	problem, known := problemOfCode[fleet.CodeOf(err)]
	switch {
	case err == nil:
		return ""
	case errors.As(err, &plain) && plain.closed:
		return fleet.AccessClosed
	case plain != nil:
		return fleet.AccessNotTLS
	case known:
		return problem
	case errors.Is(err, errHostRefused):
		return fleet.AccessHostRefused
	case errors.Is(err, errFailing):
		return fleet.AccessFailing
	case errors.As(err, &name) && name.IsNotFound:
		return fleet.AccessUnknownHost
	case errors.Is(err, syscall.ECONNREFUSED):
		return fleet.AccessRefused
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return fleet.AccessNoAnswer
	case isClosed(err):
		return fleet.AccessClosed
	case connected: // For example Syncthing's sync port, which ends the handshake.
		return fleet.AccessNotSyncthing
	}
	return fleet.AccessUnreachable
}
