package cli

import (
	"crypto/tls"
	"net"
	"net/url"
	"time"
)

// localDial is how long the server on this machine may take to show its certificate.
const localDial = 2 * time.Second

// localServer is the address of the server on this machine where none was given: with TLS where it shows the
// certificate that it made itself, in its home, as one does that listens for other machines too.
func localServer(home, plain string) string {
	at, err := url.Parse(plain)
	if err != nil {
		return plain
	}
	trusted, err := target{home: home}.trusted()
	if err != nil || trusted == nil {
		return plain
	}
	dialer := &net.Dialer{Timeout: localDial}
	conn, err := tls.DialWithDialer(dialer, "tcp", at.Host, &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12})
	if err != nil {
		return plain
	}
	_ = conn.Close()
	at.Scheme = "https"
	return at.String()
}
