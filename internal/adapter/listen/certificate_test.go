package listen

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// issued is a certificate with its key, both in PEM.
type issued struct{ cert, key string }

func issue(t *testing.T, from, until time.Time) issued {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(from.UnixNano()), NotBefore: from, NotAfter: until,
		DNSNames: []string{"muster.example"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return issued{text("CERTIFICATE", der), text("PRIVATE KEY", keyDER)}
}

// issueNow is good for 90 days.
func issueNow(t *testing.T) issued {
	t.Helper()
	return issue(t, time.Now(), time.Now().Add(90*24*time.Hour))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// relink has a symbolic link lead elsewhere, at once.
func relink(t *testing.T, to, link string) {
	t.Helper()
	if err := os.Symlink(to, link+".new"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(link+".new", link); err != nil {
		t.Fatal(err)
	}
}

// serving is a socket whose certificate lies in two files, with its log.
type serving struct {
	*Socket
	t   *testing.T
	log bytes.Buffer
}

func serve(t *testing.T, cert, key string) *serving {
	t.Helper()
	s := &serving{t: t}
	var err error
	s.Socket, err = Listen(Options{Address: "127.0.0.1:0", TLSCert: cert, TLSKey: key, Clients: 10, Reserve: 1,
		Log: slog.New(slog.NewTextHandler(&s.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	go func() {
		for {
			conn, err := s.Accept()
			if err != nil {
				return
			}
			_ = conn.(*tls.Conn).Handshake()
			_ = conn.Close()
		}
	}()
	return s
}

// wantShown connects, and checks which certificate is shown.
func (s *serving) wantShown(want issued) {
	s.t.Helper()
	conn, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // compared below
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	shown := conn.ConnectionState().PeerCertificates[0]
	if got := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: shown.Raw})); got != want.cert {
		s.t.Errorf("another certificate is shown, of %v", shown.NotBefore)
	}
	if got := s.Served().Certificate; got != fleet.CertificateOf(shown) {
		s.t.Errorf("%+v is said to be shown", got)
	}
}

// A certificate that was renewed was not shown before a restart.
func TestAReplacedCertificateIsShownToNewConnections(t *testing.T) {
	for name, replace := range map[string]func(t *testing.T, dir string, next issued, look func()){
		"written anew": func(t *testing.T, dir string, next issued, _ func()) {
			write(t, filepath.Join(dir, "cert.pem"), next.cert)
			write(t, filepath.Join(dir, "key.pem"), next.key)
		},
		"renamed, the certificate first": func(t *testing.T, dir string, next issued, look func()) {
			for _, one := range [][2]string{{"cert.pem", next.cert}, {"key.pem", next.key}} {
				write(t, filepath.Join(dir, "new"), one[1])
				if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, one[0])); err != nil {
					t.Fatal(err)
				}
				look() // finds a pair that does not fit, first
			}
		},
		"links to files, as of certbot": func(t *testing.T, dir string, next issued, look func()) {
			for _, one := range [][2]string{{"key.pem", next.key}, {"cert.pem", next.cert}} {
				write(t, filepath.Join(dir, "archive", one[0]), one[1])
				relink(t, filepath.Join("archive", one[0]), filepath.Join(dir, one[0]))
				look()
			}
		},
		"a link to their folder, as of Kubernetes": func(t *testing.T, dir string, next issued, _ func()) {
			write(t, filepath.Join(dir, "..2", "cert.pem"), next.cert)
			write(t, filepath.Join(dir, "..2", "key.pem"), next.key)
			relink(t, "..2", filepath.Join(dir, "..data"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, first, next := t.TempDir(), issueNow(t), issueNow(t)
			cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
			if strings.Contains(name, "Kubernetes") {
				write(t, filepath.Join(dir, "..1", "cert.pem"), first.cert)
				write(t, filepath.Join(dir, "..1", "key.pem"), first.key)
				relink(t, "..1", filepath.Join(dir, "..data"))
				relink(t, "..data/cert.pem", cert)
				relink(t, "..data/key.pem", key)
			} else {
				write(t, cert, first.cert)
				write(t, key, first.key)
			}
			s := serve(t, cert, key)
			s.certificate.look()
			s.wantShown(first)
			replace(t, dir, next, s.certificate.look)
			s.certificate.look()
			s.wantShown(next)
			if i := s.Impairment(); i != nil || s.Served().Stale {
				t.Errorf("got %+v, %+v", i, s.Served())
			}
			s.certificate.look()
			if log := s.log.String(); strings.Count(log, "\n") != 1 || !strings.Contains(log, "the certificate was replaced") {
				t.Errorf("got the log %q, want one line", log)
			}
		})
	}
}

func TestAPairThatCannotBeUsedLeavesTheOneOfBefore(t *testing.T) {
	first, other := issueNow(t), issueNow(t)
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write(t, cert, first.cert)
	write(t, key, first.key)
	s := serve(t, cert, key)
	for name, ruin := range map[string]func(){
		"another key":         func() { write(t, key, other.key) },
		"another certificate": func() { write(t, cert, other.cert) },
		"no PEM":              func() { write(t, cert, "certificate") },
		"empty":               func() { write(t, key, "") },
		"cut short":           func() { write(t, cert, first.cert[:len(first.cert)/2]) },
		"gone":                func() { _ = os.Remove(cert) },
		"for every user":      func() { _ = os.Chmod(key, 0o644) },
	} {
		ruin()
		s.log.Reset()
		s.certificate.look()
		if i := s.Impairment(); i != nil || s.log.Len() > 0 {
			t.Errorf("%s: got %+v and %q at once: it may be half of a replacement", name, i, &s.log)
		}
		for range 3 {
			s.certificate.look()
		}
		i := s.Impairment()
		if i == nil || i.Part != fleet.PartCertificate || i.Blocking ||
			!strings.Contains(i.Reason, "which ends in 89 days") || i.Next == "" ||
			strings.Contains(i.Reason+i.Next, dir) || !s.Served().Stale {
			t.Errorf("%s: got %+v, %+v", name, i, s.Served())
		}
		if log := s.log.String(); strings.Count(log, "\n") != 1 || !strings.Contains(log, "level=WARN") {
			t.Errorf("%s: got the log %q, want one line", name, log)
		}
		s.wantShown(first)
		write(t, cert, first.cert)
		write(t, key, first.key)
		if err := os.Chmod(key, 0o600); err != nil {
			t.Fatal(err)
		}
		s.certificate.look()
		if i := s.Impairment(); i != nil || s.Served().Stale {
			t.Errorf("%s: got %+v after it was mended", name, i)
		}
		s.wantShown(first)
	}
}

func TestTheFilesAreReadAgainByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, next := issueNow(t), issueNow(t)
		path := filepath.Join(t.TempDir(), "both.pem")
		write(t, path, first.cert+first.key)
		c, err := newCertificate(Options{TLSCert: path, TLSKey: path, Log: slog.New(slog.DiscardHandler)}, "")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = (&Socket{certificate: c}).Run(t.Context()) }()
		write(t, path, next.cert+next.key)
		time.Sleep(certificatePoll + time.Second)
		synctest.Wait()
		shown, err := c.get(nil)
		if err != nil || string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: shown.Leaf.Raw})) != next.cert {
			t.Errorf("the old one is shown, %v", err)
		}
	})
}

func TestACertificateThatEndsSoonIsWarnedOf(t *testing.T) {
	const day = 24 * time.Hour
	now := time.Now()
	for name, test := range map[string]struct {
		life, left time.Duration
		want       string // the beginning of the reason; "": there is none
	}{
		"new":             {90 * day, 89 * day, ""},
		"to be renewed":   {90 * day, 20 * day, ""},
		"soon":            {90 * day, 13*day + time.Hour, "it ends in 13 days"},
		"tomorrow":        {90 * day, 30 * time.Hour, "it ends in 1 day"},
		"today":           {90 * day, time.Hour, "it ends in 0 days"},
		"ended":           {90 * day, -time.Hour, "it ended on "},
		"of a short life": {6 * day, 3 * day, ""},
		"and soon":        {6 * day, day + time.Hour, "it ends in 1 day"},
	} {
		path, one := filepath.Join(t.TempDir(), "both.pem"), issue(t, now.Add(test.left-test.life), now.Add(test.left))
		write(t, path, one.cert+one.key)
		c, err := newCertificate(Options{TLSCert: path, TLSKey: path}, "")
		if err != nil {
			t.Fatal(err)
		}
		switch i := c.impairment(now); {
		case i == nil:
			if test.want != "" {
				t.Errorf("%s: no warning", name)
			}
		case test.want == "" || !strings.HasPrefix(i.Reason, test.want) || i.Next == "":
			t.Errorf("%s: got %+v, want %q", name, i, test.want)
		}
	}
	made, err := newCertificate(Options{Home: t.TempDir()}, "")
	if err != nil {
		t.Fatal(err)
	}
	if i := made.impairment(now.Add(certificateLife - certificateRenew + day)); i == nil ||
		!strings.Contains(i.Next, "Start the server again") {
		t.Errorf("got %+v for a generated one that a restart renews", i)
	}
}

// A pipe of the shell, as in --tls-key <(...), can be read once only.
func TestACertificateFromAPipeIsReadOnce(t *testing.T) {
	dir, one := t.TempDir(), issueNow(t)
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write(t, cert, one.cert)
	if err := syscall.Mkfifo(key, 0o600); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(key, []byte(one.key), 0o600) }()
	s := serve(t, cert, key)
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if s.certificate.followed() {
		t.Error("a pipe would be read again, which waits for a writer that never comes")
	}
	s.wantShown(one)
}
