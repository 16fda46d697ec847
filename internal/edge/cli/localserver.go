package cli

import (
	"crypto/tls"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"muster/internal/edge/auth"
)

const (
	// packagedHome is the home of the server that a package installed. Only root and its own user can read it.
	packagedHome = "/var/lib/muster"
	// localDial is how long the server on this machine may take to show its certificate.
	localDial = 2 * time.Second
)

// homes are the homes that a server on this machine may have, when none was given.
func homes() []string { return []string{defaultHome(), packagedHome} }

// localServer finds the server on this machine when no address was given. A server that also listens for other
// machines uses TLS, with the certificate in its home.
func localServer(homes []string, plain string) (home, address string) {
	for _, home := range homes {
		if address, ok := withTLS(home, plain); ok {
			return home, address
		}
	}
	return homeWithToken(homes), plain
}

// homeWithToken is the first home whose token this user may read, else the first one.
func homeWithToken(homes []string) string {
	for _, home := range homes {
		if file, err := os.Open(filepath.Join(home, auth.AdminTokenFile)); err == nil {
			_ = file.Close()
			return home
		}
	}
	return homes[0]
}

// withTLS is the address with https, where the server there shows the certificate in the home.
func withTLS(home, plain string) (address string, ok bool) {
	at, err := url.Parse(plain)
	if err != nil {
		return "", false
	}
	trusted, err := target{home: home}.trusted()
	if err != nil || trusted == nil {
		return "", false
	}
	dialer := &net.Dialer{Timeout: localDial}
	conn, err := tls.DialWithDialer(dialer, "tcp", at.Host, &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12})
	if err != nil {
		return "", false
	}
	_ = conn.Close()
	at.Scheme = "https"
	return at.String(), true
}
