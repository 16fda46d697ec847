package auth

import (
	"net"
	"net/http"
	"strings"
	"time"
)

// Names of cookies. Over TLS they begin with __Host-: browsers accept such a cookie only from this very host, and
// send it only over TLS.
const (
	SessionCookie = "muster-session"
	DeviceCookie  = "muster-device"

	HostPrefix = "__Host-"
)

// CookieOf returns the value of one of Muster's cookies, "" when the request has none. A cookie whose name does not
// begin with __Host- counts only where PlainCookies is true, because other hosts and ports can set it.
func CookieOf(r *http.Request, name string) string {
	names := []string{HostPrefix + name}
	if PlainCookies(r) {
		names = append(names, name)
	}
	for _, name := range names {
		if cookie, err := r.Cookie(name); err == nil && cookie.Value != "" {
			return cookie.Value
		}
	}
	return ""
}

// PlainCookies reports whether a request is plain HTTP on this machine, so that cookies have their plain names. Any
// other request counts as one that comes over TLS, perhaps to a proxy; where it does not, the browser drops the
// cookie. A session whose cookie came under the name with __Host- keeps that name, whatever else the request has.
func PlainCookies(r *http.Request) bool {
	if r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https:") || Forwarded(r) {
		return false
	}
	if kept, err := r.Cookie(HostPrefix + SessionCookie); err == nil && kept.Value != "" {
		return false
	}
	return LoopbackHost(r.Host) && LoopbackHost(r.RemoteAddr)
}

// ClientOf returns the client that sent a request.
func ClientOf(r *http.Request) Client {
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	return Client{Address: address, Name: r.UserAgent(), Device: CookieOf(r, DeviceCookie)}
}

// deviceLife is how long a browser keeps a device cookie. It is worthless once the password is another one.
const deviceLife = 365 * 24 * time.Hour

// CookiesOf returns the cookies of a new session. A program gets its session as a token instead.
func CookiesOf(r *http.Request, started Started) (all []*http.Cookie) {
	if started.Half != "" {
		all = append(all, NewSessionCookie(r, started.Token))
	}
	if started.Device != "" {
		all = append(all, newCookie(r, DeviceCookie, started.Device, int(deviceLife.Seconds())))
	}
	return all
}

// NewSessionCookie returns the cookie of a session. It lasts until the browser ends, or the session.
func NewSessionCookie(r *http.Request, token string) *http.Cookie {
	return newCookie(r, SessionCookie, token, 0)
}

// NoSessionCookie returns the cookie that removes the session from the browser.
func NoSessionCookie(r *http.Request) *http.Cookie { return newCookie(r, SessionCookie, "", -1) }

func newCookie(r *http.Request, name, value string, maxAge int) *http.Cookie {
	secure := !PlainCookies(r)
	if secure {
		name = HostPrefix + name
	}
	return &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: maxAge, Secure: secure, HttpOnly: true,
		SameSite: http.SameSiteStrictMode}
}

// NewSignOnCookie returns the cookie of a log-in at the provider. Browsers send it when the provider leads them back
// here, and no other cookie of Muster.
func NewSignOnCookie(r *http.Request, value string) *http.Cookie {
	return signOnCookie(r, value, int(SignOnLife.Seconds()))
}

// NoSignOnCookie returns the cookie that removes a log-in at the provider from the browser.
func NoSignOnCookie(r *http.Request) *http.Cookie { return signOnCookie(r, "", -1) }

func signOnCookie(r *http.Request, value string, maxAge int) *http.Cookie {
	made := newCookie(r, SignOnCookie, value, maxAge)
	made.SameSite = http.SameSiteLaxMode
	return made
}
