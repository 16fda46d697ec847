package api_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/test/server"
	"muster/test/wait"
)

// A stream ends with the log-in of a disabled user, and with the scope and the role that it was opened with. The stream
// of another user goes on.
func TestStreamsEndWithWhatTheirCallerMayDo(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	bystander := openStream(t, loggedIn(t, s, "bystander"))
	scope, role := []string{"inside"}, string(fleet.RoleOperator)
	for name, end := range map[string]func(user string) error{
		"disabled": func(user string) error {
			_, err := s.Client.DisableUser(t.Context(), user)
			return err
		},
		"scoped": func(user string) error {
			_, err := s.Client.PutUser(t.Context(), user, api.PutUser{Tags: &scope})
			return err
		},
		"promoted": func(user string) error {
			_, err := s.Client.PutUser(t.Context(), user, api.PutUser{Role: &role})
			return err
		},
		"deleted": func(user string) error { return s.Client.DeleteUser(t.Context(), user) },
	} {
		stream := openStream(t, loggedIn(t, s, name))
		if err := end(name); err != nil {
			t.Fatal(err)
		}
		stream.wantEnd(name)
	}
	viewer := string(fleet.RoleViewer)
	program := "program"
	token, err := s.Client.CreateTokenWith(t.Context(), api.CreateToken{Name: &program, Role: &viewer})
	if err != nil {
		t.Fatal(err)
	}
	stream := openStream(t, s.As(token.Secret))
	if err := s.Client.DeleteToken(t.Context(), program); err != nil {
		t.Fatal(err)
	}
	stream.wantEnd("of a deleted token")
	select {
	case err := <-bystander.ended:
		t.Errorf("the stream of a user whom nobody changed ended, too: %v", err)
	default:
	}
}

// loggedIn makes a user who may read, and logs in.
func loggedIn(t *testing.T, s *server.Server, name string) *client.Client {
	t.Helper()
	role, password := string(fleet.RoleViewer), "correct horse battery"
	if _, err := s.Client.CreateUser(t.Context(), api.CreateUser{Name: &name, Role: &role,
		Password: &password}); err != nil {
		t.Fatal(err)
	}
	session, _, err := s.Client.Login(t.Context(), name, password, "")
	if err != nil {
		t.Fatal(err)
	}
	return s.As(session.Token)
}

// opened is a stream of events.
type opened struct {
	t     *testing.T
	ended chan error
}

func openStream(t *testing.T, c *client.Client) *opened {
	t.Helper()
	o, open := &opened{t: t, ended: make(chan error, 1)}, make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() {
		filter := client.EventFilter{Opened: func() { close(open) }}
		_, err := c.Events(ctx, filter, 0, func(api.Event) error { return nil })
		o.ended <- err
	}()
	select {
	case <-open:
	case err := <-o.ended:
		t.Fatalf("the stream ended before it began: %v", err)
	case <-time.After(streamLimit):
		t.Fatal("the stream does not begin")
	}
	return o
}

// streamLimit is how long a test waits for the end of a stream on a busy machine. A stream whose credential stays valid
// lasts much longer. Muster promises an end within two seconds: TestAStreamEndsWithinTwoSecondsOfItsCredential of
// package httpapi tests that, with a clock that the test sets.
const streamLimit = 2 * time.Minute

func (o *opened) wantEnd(what string) {
	o.t.Helper()
	select {
	case err := <-o.ended:
		if err != nil {
			o.t.Errorf("%s: the stream ended with %v", what, err)
		}
	case <-time.After(streamLimit):
		o.t.Errorf("%s: the stream goes on", what)
	}
}

// Heads of requests that one address sends slowly, more than the server has places, leave room for another address: it
// gets a connection that is kept, and opens a stream.
func TestSlowHeadsLeaveRoomAtAWholeServer(t *testing.T) {
	t.Parallel()
	const openFiles = 256
	s := server.Start(t, server.Options{OpenFiles: openFiles})
	address := strings.TrimPrefix(s.URL, "http://")
	for range openFiles {
		slow, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = slow.Close() })
		_, _ = fmt.Fprint(slow, "GET /api/v1/devices HTTP/1.1\r\nHost: lo") // The server may have closed it.
	}
	// Another address of loopback needs Linux, as the simulated daemons do.
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	elsewhere := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}
	// The slow ones have to hurry, so places become free.
	wait.For(t, "the other address keeps a connection", func() bool {
		response, err := elsewhere.Get(s.URL + "/healthz")
		if err != nil {
			t.Fatal(err) // An answer comes in any case.
		}
		if err := errors.Join(response.Body.Close(), healthy(response)); err != nil {
			t.Fatal(err)
		}
		return !response.Close
	})
	c, err := client.NewWith(s.URL, s.Token, elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	openStream(t, c)
}

func healthy(response *http.Response) error {
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("/healthz: %s", response.Status)
	}
	return nil
}
