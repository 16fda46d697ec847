package listen

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"muster/internal/adapter/seal"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	// certificatePoll is how often the files of the certificate are read. Names and times of files do not tell reliably
	// that a file was replaced. Its content does, and is only a few kilobytes.
	certificatePoll = 10 * time.Second
	// certificateNotice is how long before its end people are warned of a certificate that somebody else has to renew.
	// For a certificate with a short life it is less: see notice.
	certificateNotice = 14 * 24 * time.Hour
)

// source tells where a certificate and its key are.
type source struct {
	cert, key string // files in PEM; both may be the same
	generated bool   // Muster generated the certificate, in its home directory.
}

// texts are the contents of the two files.
type texts struct{ cert, key string }

func (s source) read() (texts, error) {
	if !s.generated {
		if err := seal.CheckFile(s.key); err != nil {
			return texts{}, err
		}
	}
	cert, err := os.ReadFile(s.cert)
	if err != nil {
		return texts{}, s.unusable(err)
	}
	if s.key == s.cert {
		return texts{string(cert), string(cert)}, nil
	}
	key, err := os.ReadFile(s.key)
	if err != nil {
		return texts{}, s.unusable(err)
	}
	return texts{string(cert), string(key)}, nil
}

func (s source) parse(t texts) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair([]byte(t.cert), []byte(t.key))
	if err != nil {
		return nil, s.unusable(err)
	}
	return &pair, nil
}

func (s source) unusable(err error) error {
	if s.generated {
		return &fleet.Error{Code: fleet.CodeInvalid, Err: err,
			Message: "the generated certificate tls.pem does not load: " + err.Error(),
			Hint: "Remove tls.pem from the home folder and start the server again to have a new one made; clients that " +
				"trusted the old one must trust the new one."}
	}
	return &fleet.Error{Code: fleet.CodeInvalid, Err: err,
		Message: "--tls-cert and --tls-key do not load: " + err.Error(),
		Hint:    "Give a certificate and the key that belongs to it, both in PEM."}
}

// regular reports whether both files can be read again. A pipe of the shell cannot.
func (s source) regular() bool {
	for _, path := range []string{s.cert, s.key} {
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			return false
		}
	}
	return true
}

// certificate is the certificate that the server shows. It follows its files: new contents count for the next
// connection, whether a file was written anew or renamed, or a symbolic link to it or its directory leads elsewhere.
// While the files do not have a pair that loads, the former certificate is shown.
type certificate struct {
	source
	log    *slog.Logger
	once   bool  // The files cannot be read again.
	loaded texts // contents from which shown was made; only begin and look use it

	mu      sync.Mutex       // guards what follows
	shown   *tls.Certificate // the certificate that is shown, with its Leaf
	failed  bool             // The last reading of the files failed.
	trouble error            // why the last reading failed, once two in a row have failed
}

func newCertificate(o Options, host string) (*certificate, error) {
	if o.TLSCert == "" {
		return newGenerated(o, host)
	}
	given := source{cert: o.TLSCert, key: o.TLSKey}
	c := &certificate{source: given, log: o.Log, once: !given.regular()}
	return c, c.begin()
}

// begin reads the files for the first time.
func (c *certificate) begin() (err error) {
	if c.loaded, err = c.read(); err != nil {
		return err
	}
	c.shown, err = c.parse(c.loaded)
	return err
}

func (c *certificate) followed() bool { return !c.once }

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shown, nil
}

func (c *certificate) run(ctx context.Context) error {
	again := time.NewTicker(certificatePoll)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			c.look()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// look reads the files again. Certificate and key are mostly replaced one after the other. So files that cannot be
// used are trouble only when the next reading finds nothing better.
func (c *certificate) look() {
	found, err := c.read()
	if err == nil && found == c.loaded {
		c.note(nil, nil)
		return
	}
	var next *tls.Certificate
	if err == nil {
		next, err = c.parse(found)
	}
	if err == nil {
		c.loaded = found
		now := fleet.CertificateOf(next.Leaf)
		c.log.Info("the certificate was replaced: new connections are shown this one", logkey.Fingerprint, now.Fingerprint,
			logkey.Until, now.NotAfter)
	}
	c.note(next, err)
}

// note keeps what a reading of the files found: another certificate, or the error. An error is logged once.
func (c *certificate) note(next *tls.Certificate, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if next != nil {
		c.shown = next
	}
	if err == nil || !c.failed { // the first failure may come from half of a replacement
		c.failed, c.trouble = err != nil, nil
		return
	}
	if c.trouble == nil || c.trouble.Error() != err.Error() {
		c.log.Warn("what is in the files of the certificate cannot be used: the one of before is shown", logkey.Err(err))
	}
	c.trouble = err
}

// now returns the certificate that new connections are shown, and what is wrong with the files.
func (c *certificate) now() (fleet.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fleet.CertificateOf(c.shown.Leaf), c.trouble
}

func (c *certificate) served() *fleet.Served {
	shown, trouble := c.now()
	return &fleet.Served{Certificate: shown, Stale: trouble != nil}
}

func (c *certificate) impairment(now time.Time) *fleet.Impairment {
	shown, trouble := c.now()
	files := "the files given with --tls-cert and --tls-key"
	if c.generated {
		files = "the file " + CertificateFile + " in the home folder"
	}
	impaired := fleet.Impairment{Part: fleet.PartCertificate, Reason: "it " + ends(shown.NotAfter, now)}
	switch {
	case trouble != nil:
		impaired.Reason = fmt.Sprintf("what is in %s cannot be used; the one of before is shown, which %s", files,
			ends(shown.NotAfter, now))
		impaired.Next = "The log says why. Put a certificate and the key that belongs to it there, both in PEM; the server " +
			"reads them again by itself."
		if c.generated {
			impaired.Next = "The log says why. Put back what was there; or remove it and start the server again to have a new " +
				"one made, which clients that name the old one with --ca must be given."
		}
	case shown.NotAfter.Sub(now) > c.notice(shown):
		return nil
	case c.generated:
		impaired.Next = "Start the server again to have a new one made, and give that to clients that name the old one " +
			"with --ca."
	case c.once:
		impaired.Next = "Renew it, and start the server again."
	default:
		impaired.Next = "Renew it in " + files + "; the server reads them again by itself."
	}
	return &impaired
}

// notice returns how long before its end people are warned of a certificate.
func (c *certificate) notice(shown fleet.Certificate) time.Duration {
	if c.generated {
		return certificateRenew
	}
	return min(certificateNotice, shown.NotAfter.Sub(shown.NotBefore)/4)
}

// ends tells in days when a certificate ends.
func ends(at, now time.Time) string {
	switch days := int(at.Sub(now) / (24 * time.Hour)); {
	case !at.After(now):
		return "ended on " + at.UTC().Format(time.DateOnly)
	case days == 1:
		return "ends in 1 day"
	default:
		return fmt.Sprintf("ends in %d days", days)
	}
}
