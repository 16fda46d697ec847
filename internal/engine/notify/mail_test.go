package notify

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	netmail "net/mail"
	"strings"
	"sync"
	"testing"

	"muster/internal/fleet"
)

// postOffice is a mail server that says what the test wants.
type postOffice struct {
	address  string
	roots    *x509.CertPool
	tls      *tls.Config
	implicit bool
	bare     bool              // offers no STARTTLS
	says     map[string]string // answers by the command's first word, "." for the end of a letter; "hang" says nothing

	arrived, ended chan struct{} // one for each connection

	mu      sync.Mutex // guards what follows
	letters []string
	logins  []string // user and password
	clear   bool     // a letter or a log-in came without TLS
}

func newPostOffice(t *testing.T, o *postOffice) *postOffice {
	t.Helper()
	o.arrived, o.ended = make(chan struct{}, 10), make(chan struct{}, 10)
	certified := httptest.NewTLSServer(nil)
	certified.Close()
	o.tls = &tls.Config{Certificates: certified.TLS.Certificates}
	if o.roots == nil {
		o.roots = x509.NewCertPool()
		o.roots.AddCert(certified.Certificate())
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.address = listener.Addr().String()
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { o.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	return o
}

func (o *postOffice) serve(conn net.Conn) {
	o.arrived <- struct{}{}
	defer func() { o.ended <- struct{}{} }()
	defer func() { _ = conn.Close() }()
	private := o.implicit
	if o.implicit {
		conn = tls.Server(conn, o.tls)
	}
	in := bufio.NewReader(conn)
	answer := func(text string) { fmt.Fprint(conn, text+"\r\n") }
	answer("220 office")
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		word, _, _ := strings.Cut(strings.ToUpper(line), " ")
		if said, ok := o.says[word]; ok {
			if said != "hang" {
				answer(said)
			}
			continue
		}
		switch word {
		case "EHLO":
			answer("250-office")
			if !o.bare && !private {
				answer("250-STARTTLS")
			}
			answer("250 AUTH PLAIN LOGIN")
		case "STARTTLS":
			answer("220 go on")
			private = true
			conn = tls.Server(conn, o.tls)
			in = bufio.NewReader(conn)
		case "AUTH":
			raw, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(line, "AUTH PLAIN "))
			o.note(private, func() {
				o.logins = append(o.logins, strings.ReplaceAll(strings.Trim(string(raw), "\x00"), "\x00", " "))
			})
			answer("235 welcome")
		case "DATA":
			answer("354 go on")
			letter := readLetter(in)
			said := "250 taken"
			if other, ok := o.says["."]; ok {
				said = other
			}
			if strings.HasPrefix(said, "2") {
				o.note(private, func() { o.letters = append(o.letters, letter) })
			}
			answer(said)
		case "QUIT":
			answer("221 bye")
			return
		default:
			answer("250 fine")
		}
	}
}

func readLetter(in *bufio.Reader) string {
	var letter strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil || line == ".\r\n" {
			return letter.String()
		}
		letter.WriteString(line)
	}
}

func (o *postOffice) note(private bool, keep func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	keep()
	o.clear = o.clear || !private
}

func (o *postOffice) sender(t *testing.T, change func(*MailOptions)) *Mail {
	t.Helper()
	options := MailOptions{To: "Admin <admin@example.org>", From: "Muster <muster@example.net>", Server: o.address,
		Roots: o.roots}
	if change != nil {
		change(&options)
	}
	m, err := NewMail(options)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (o *postOffice) got() (letters, logins []string, clear bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.letters, o.logins, o.clear
}

func TestALetterSaysWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		office *postOffice
		policy MailTLS
	}{
		"STARTTLS": {&postOffice{}, MailTLSAuto},
		"TLS":      {&postOffice{implicit: true}, MailTLSImplicit},
	} {
		t.Run(name, func(t *testing.T) {
			office := newPostOffice(t, c.office)
			m := office.sender(t, func(o *MailOptions) {
				o.TLS, o.User, o.Password = c.policy, "me",
					fleet.NewSecret("hunter2")
			})
			resolved := example
			resolved.ID, resolved.Type = "ID2", fleet.NoticeResolved
			for _, message := range []Message{example, resolved, example} {
				if err := m.Send(t.Context(), message); err != nil {
					t.Fatal(err)
				}
			}
			letters, logins, clear := office.got()
			if len(letters) != 3 || len(logins) != 3 || logins[0] != "me hunter2" || clear {
				t.Fatalf("got %d letters, log-ins %q, in clear text: %t", len(letters), logins, clear)
			}
			first, body := parseLetter(t, letters[0])
			for header, want := range map[string]string{
				"From": `"Muster" <muster@example.net>`, "To": `"Admin" <admin@example.org>`,
				"Subject":    "[Muster] folder photos on nas differs from the other devices",
				"Message-Id": "<ID1@example.net>", "In-Reply-To": "", "Auto-Submitted": "auto-generated",
				"Date": "Fri, 20 Nov 2026 12:10:00 +0000",
			} {
				if got := first.Get(header); got != want {
					t.Errorf("%s is %q, want %q", header, got, want)
				}
			}
			for _, want := range []string{"Device:   nas (" + example.DeviceID.Short() + ")", "Folder:   photos",
				"Reason:   3 files are missing", "Next:     look there", "Since:    Fri, 20 Nov 2026 12:00:00 UTC"} {
				if !strings.Contains(body, want) {
					t.Errorf("%q is not in %q", want, body)
				}
			}
			second, body := parseLetter(t, letters[1])
			if second.Get("Subject") != "[Muster] Resolved: folder photos on nas differs from the other devices" ||
				second.Get("References") != "<ID1@example.net>" ||
				second.Get("Message-Id") != "<ID2@example.net>" || !strings.Contains(body,
				"Resolved: Fri, 20 Nov 2026 12:10:00 UTC") {
				t.Errorf("got %v\n%s", second, body)
			}
			if again, _ := parseLetter(t, letters[2]); again.Get("Message-Id") != first.Get("Message-Id") {
				t.Error("the same message has another ID the second time")
			}
		})
	}
}

func parseLetter(t *testing.T, text string) (netmail.Header, string) {
	t.Helper()
	letter, err := netmail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(letter.Body)
	if err != nil {
		t.Fatal(err)
	}
	return letter.Header, strings.ReplaceAll(strings.ReplaceAll(string(body), "=\r\n", ""), "=20\r\n", "\r\n")
}

func TestALabelCannotBreakOutOfItsLine(t *testing.T) {
	office := newPostOffice(t, &postOffice{})
	message := example
	message.Label, message.Folder = "nas\r\nBcc: all@example.org\r\n\r\n.\r\n", strings.Repeat("ü", 400)
	message.Reason = "bad\r\n.\r\nQUIT\r\n"
	if err := office.sender(t, nil).Send(t.Context(), message); err != nil {
		t.Fatal(err)
	}
	letters, _, _ := office.got()
	if len(letters) != 1 {
		t.Fatalf("got %d letters", len(letters))
	}
	header, _ := parseLetter(t, letters[0])
	if header.Get("Bcc") != "" || len(header["Subject"]) != 1 || len(header.Get("Subject")) > 2000 {
		t.Errorf("got %v", header)
	}
}

// Without being told so, nothing goes out in clear text or to a server that nobody vouches for.
func TestMailIsPrivateOrNotSent(t *testing.T) {
	for name, c := range map[string]struct {
		office *postOffice
		policy MailTLS
		sent   bool
	}{
		"no STARTTLS":                   {&postOffice{bare: true}, MailTLSAuto, false},
		"nobody vouches, STARTTLS":      {&postOffice{roots: x509.NewCertPool()}, MailTLSStart, false},
		"nobody vouches, TLS":           {&postOffice{roots: x509.NewCertPool(), implicit: true}, MailTLSImplicit, false},
		"STARTTLS where TLS is wanted":  {&postOffice{}, MailTLSImplicit, false},
		"in clear text, as it was told": {&postOffice{bare: true}, MailTLSNone, true},
	} {
		t.Run(name, func(t *testing.T) {
			office := newPostOffice(t, c.office)
			err := office.sender(t, func(o *MailOptions) { o.TLS = c.policy }).Send(t.Context(), example)
			letters, _, _ := office.got()
			if (err == nil) != c.sent || (len(letters) == 1) != c.sent {
				t.Errorf("got %d letters, %v; sent should be %t", len(letters), err, c.sent)
			}
		})
	}
	t.Run("a password in clear text", func(t *testing.T) {
		office := newPostOffice(t, &postOffice{bare: true})
		m := office.sender(t, func(o *MailOptions) {
			o.TLS, o.User, o.Password = MailTLSNone, "me",
				fleet.NewSecret("hunter2")
		})
		err := m.Send(t.Context(), example)
		if letters, logins, _ := office.got(); err == nil || len(letters)+len(logins) > 0 ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %d letters, log-ins %q, %v", len(letters), logins, err)
		}
	})
}

func TestARefusedLetterIsToldFromARefusedReceiver(t *testing.T) {
	for name, c := range map[string]struct {
		says     map[string]string
		rejected bool
	}{
		"the text, for good":     {map[string]string{".": "554 spam"}, true},
		"the text, for now":      {map[string]string{".": "451 later"}, false},
		"the receiver, for good": {map[string]string{"RCPT": "550 nobody of that name"}, false},
		"the sender":             {map[string]string{"MAIL": "553 not you"}, false},
		"everything":             {map[string]string{"EHLO": "554 go away", "HELO": "554 go away"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			office := newPostOffice(t, &postOffice{says: c.says})
			err := office.sender(t, nil).Send(t.Context(), example)
			var rejected *RejectedError
			if err == nil || errors.As(err, &rejected) != c.rejected {
				t.Errorf("got %v, rejected should be %t", err, c.rejected)
			}
			<-office.ended
		})
	}
}

func TestATakenLetterIsTakenWhateverComesAfterwards(t *testing.T) {
	office := newPostOffice(t, &postOffice{says: map[string]string{"RSET": "421 closing", "QUIT": "421 closing"}})
	if err := office.sender(t, nil).Send(t.Context(), example); err != nil {
		t.Error(err)
	}
}

func TestAServerThatHangsIsLeftWhenMusterStops(t *testing.T) {
	for _, at := range []string{"EHLO", "MAIL", "RSET"} {
		office := newPostOffice(t, &postOffice{says: map[string]string{at: "hang"}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		m := office.sender(t, nil)
		go func() { done <- m.Send(ctx, example) }()
		<-office.arrived
		cancel()
		<-done // long before the library's time limit
		<-office.ended
	}
}

func TestWrongMailOptionsAreExplained(t *testing.T) {
	good := MailOptions{To: "a@example.org", From: "b@example.org", Server: "mail.example.org"}
	for name, change := range map[string]func(*MailOptions){
		"no address":      func(o *MailOptions) { o.To = "admin" },
		"no sender":       func(o *MailOptions) { o.From = "" },
		"no server":       func(o *MailOptions) { o.Server = "" },
		"no port":         func(o *MailOptions) { o.Server = "mail.example.org:" },
		"a port too high": func(o *MailOptions) { o.Server = "mail.example.org:70000" },
		"two ports":       func(o *MailOptions) { o.Server = "mail.example.org:25:26" },
		"a URL":           func(o *MailOptions) { o.Server = "smtp://mail.example.org" },
		"a policy":        func(o *MailOptions) { o.TLS = "maybe" },
	} {
		t.Run(name, func(t *testing.T) {
			o := good
			change(&o)
			if _, err := NewMail(o); fleet.CodeOf(err) != fleet.CodeInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
	if m, err := NewMail(good); err != nil || m.Name() != "mail:a@example.org" {
		t.Errorf("got %v, %v", m, err)
	}
}
