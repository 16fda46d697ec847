package syncthing

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// newTested is a fake that has what a test of access asks for.
func newTested(t *testing.T, o fakeOptions) *fake {
	t.Helper()
	f := newFake(t, o)
	f.answer(optionsPath, `{"natEnabled":true}`)
	return f
}

func testAccess(t *testing.T, target Target) fleet.AccessTest {
	t.Helper()
	found, err := TestAccess(t.Context(), target, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

const secretText = "TEXT-OF-AN-INNER-SERVER"

// answerAll has a fake answer every request with a status and a text.
func answerAll(f *fake, status int, text string) {
	for _, path := range []string{probePath, statusPath, "/rest/system/version", optionsPath} {
		f.handle(path, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		})
	}
}

func TestATestOfAccessSaysWhatIsWrong(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(f *fake, target *Target)
		options fakeOptions
		want    fleet.AccessProblem
	}{
		"right": {want: ""},
		"wrong key": {want: fleet.AccessKeyRefused, prepare: func(f *fake, _ *Target) {
			answerAll(f, http.StatusForbidden, "Forbidden "+secretText)
		}},
		"another device": {want: fleet.AccessOtherDevice, prepare: func(f *fake, target *Target) {
			target.Device = fleet.DeviceIDOf([32]byte{7})
		}},
		"another device that says it with the status alone": {want: fleet.AccessOtherDevice,
			options: fakeOptions{silentID: true}, prepare: func(f *fake, target *Target) {
				target.Device = fleet.DeviceIDOf([32]byte{7})
			}},
		"another certificate": {want: fleet.AccessOtherCertificate, prepare: func(f *fake, target *Target) {
			target.Pin = "sha256:" + strings.Repeat("ab", 32)
		}},
		"plain HTTP behind a pin": {want: fleet.AccessNotTLS, options: fakeOptions{plain: true},
			prepare: func(f *fake, target *Target) { target.Pin = "sha256:" + strings.Repeat("ab", 32) }},
		"a page": {want: fleet.AccessNotSyncthing, options: fakeOptions{silentID: true},
			prepare: func(f *fake, _ *Target) { answerAll(f, http.StatusOK, "<html>"+secretText) }},
		"nothing known": {want: fleet.AccessNotSyncthing, options: fakeOptions{silentID: true},
			prepare: func(f *fake, _ *Target) { answerAll(f, http.StatusNotFound, secretText) }},
		"a redirect": {want: fleet.AccessNotSyncthing, prepare: func(f *fake, _ *Target) {
			answerAll(f, http.StatusFound, secretText)
		}},
		"it fails": {want: fleet.AccessFailing, prepare: func(f *fake, _ *Target) {
			answerAll(f, http.StatusInternalServerError, secretText)
		}},
		"an answer without end": {want: fleet.AccessNotSyncthing, prepare: func(f *fake, _ *Target) {
			f.answer(statusPath, `{"x":"`+strings.Repeat(secretText, 20_000))
		}},
		"the host name is refused": {want: fleet.AccessHostRefused, prepare: func(f *fake, _ *Target) {
			answerAll(f, http.StatusForbidden, "Host check error")
		}},
		"before 1.12": {want: fleet.AccessTooOld, prepare: func(f *fake, _ *Target) {
			f.handle(optionsPath, func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
		}},
		"a version that is a text": {want: "", prepare: func(f *fake, _ *Target) {
			f.answer("/rest/system/version", fmt.Sprintf(`{"version":"v1.2.3 %s"}`, secretText))
		}},
		"an unknown name": {want: fleet.AccessUnknownHost, prepare: func(_ *fake, target *Target) {
			target.Address = "nowhere.invalid:8384"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTested(t, test.options)
			target := f.target()
			if test.prepare != nil {
				test.prepare(f, &target)
			}
			o := Options{}
			if test.want == fleet.AccessUnknownHost {
				o.Dial = func(context.Context, string, string) (net.Conn, error) {
					return nil, &net.DNSError{Err: "no such host", Name: "nowhere.invalid", IsNotFound: true}
				}
			}
			found, err := TestAccess(t.Context(), target, o)
			if err != nil || found.Problem != test.want {
				t.Fatalf("got %q, %v, want %q", found.Problem, err, test.want)
			}
			shown, err := json.Marshal(found)
			if text := string(shown) + fleet.Reason(found.Err()); err != nil || strings.Contains(text, secretText) {
				t.Errorf("the result has what the peer sent: %s", text)
			}
			switch test.want {
			case fleet.AccessOtherDevice:
				if found.Other != f.ID {
					t.Errorf("the other device is %q, want %q", found.Other, f.ID)
				}
			case fleet.AccessOtherCertificate:
				wantNoKey(t, f)
			}
		})
	}
}

func TestATestOfAccessOfADeadPortAndOfOneThatIsSilent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target := Target{Device: fleet.DeviceIDOf([32]byte{7}), APIKey: fleet.NewSecret(testKey),
		Address: l.Addr().String(), Introduced: fleet.ByPerson}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if found, err := TestAccess(ctx, target, Options{}); err != nil || found.Problem != fleet.AccessNoAnswer {
		t.Errorf("silent: got %q, %v", found.Problem, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if found := testAccess(t, target); found.Problem != fleet.AccessRefused {
		t.Errorf("dead: got %q", found.Problem)
	}
}

// A port that closes each connection looked like one without an answer.
func TestATestOfAccessOfAPortThatCloses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target := Target{Device: fleet.DeviceIDOf([32]byte{7}), APIKey: fleet.NewSecret(testKey), Pin: "sha256:" +
		strings.Repeat("ab", 32), Introduced: fleet.ByPerson,
		Address: acceptAll(t, l, func(c net.Conn) { _ = c.Close() })}
	if found := testAccess(t, target); found.Problem != fleet.AccessClosed {
		t.Errorf("got %q", found.Problem)
	}
}

type noPlace struct{ unbounded }

func (noPlace) Second(context.Context) (func(), error) {
	return nil, &fleet.Error{Code: fleet.CodeUnavailable, Message: "no connection was free", Err: context.DeadlineExceeded}
}

// The limit of connections was told as a daemon that does not answer.
func TestATestOfAccessThatDidNotConnectIsAnError(t *testing.T) {
	if found, err := TestAccess(
		t.Context(),
		newTested(t, fakeOptions{}).target(),
		Options{Places: noPlace{}},
	); err == nil {
		t.Fatalf("got %+v", found)
	}
}
