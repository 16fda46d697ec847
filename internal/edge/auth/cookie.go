package auth

import (
	"net"
	"net/http"
	"strings"
	"time"
)

// These are the names of cookies. Over TLS they get the prefix __Host-: browsers accept such a cookie only from this
// very host, and send it only over TLS.
const (
	SessionCookie = "muster-session"
	DeviceCookie  = "muster-device"

	HostPrefix = "__Host-"
)

// CookieOf returns the value of one of Muster's cookies, or "" if the request has none. A cookie without the prefix
// __Host- is accepted only if PlainCookies is true, because other hosts and ports can set it.
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

// PlainCookies reports whether the cookies of a request have names without the prefix __Host-. That is so for plain
// HTTP on this machine. Every other request counts as coming over TLS, perhaps through a proxy; if it does not, the
// browser drops the cookie. It is false for every request that has the session cookie with the prefix, so that the
// cookie stays in use.
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

// deviceLife is how long a browser keeps a device cookie. A change of the password makes the cookie worthless
// earlier.
const deviceLife = 365 * 24 * time.Hour

// CookiesOf returns the cookies for a session that was just started. A program gets no session cookie, because it gets
// the token in the answer.
func CookiesOf(r *http.Request, started Started) (all []*http.Cookie) {
	if started.Half != "" {
		all = append(all, NewSessionCookie(r, started.Token))
	}
	if started.Device != "" {
		all = append(all, newCookie(r, DeviceCookie, started.Device, int(deviceLife.Seconds())))
	}
	return all
}

// NewSessionCookie returns the cookie of a session. The browser keeps it until it is closed.
func NewSessionCookie(r *http.Request, token string) *http.Cookie {
	return newCookie(r, SessionCookie, token, 0)
}

// NoSessionCookie returns the cookie that deletes the session cookie in the browser.
func NoSessionCookie(r *http.Request) *http.Cookie { return newCookie(r, SessionCookie, "", -1) }

func newCookie(r *http.Request, name, value string, maxAge int) *http.Cookie {
	secure := !PlainCookies(r)
	if secure {
		name = HostPrefix + name
	}
	return &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: maxAge, Secure: secure, HttpOnly: true,
		SameSite: http.SameSiteStrictMode}
}

// NewSignOnCookie returns the cookie of a log-in at the provider. It is SameSite=Lax, so that the browser sends it
// when the provider redirects back to Muster. All other cookies of Muster are Strict and are not sent then.
func NewSignOnCookie(r *http.Request, value string) *http.Cookie {
	return signOnCookie(r, value, int(SignOnLife.Seconds()))
}

// NoSignOnCookie returns the cookie that deletes the sign-on cookie in the browser.
func NoSignOnCookie(r *http.Request) *http.Cookie { return signOnCookie(r, "", -1) }

func signOnCookie(r *http.Request, value string, maxAge int) *http.Cookie {
	made := newCookie(r, SignOnCookie, value, maxAge)
	made.SameSite = http.SameSiteLaxMode
	return made
}
