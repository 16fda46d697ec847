package httpapi

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// Demo runs a second server with simulated devices, which only programs on this machine can reach; see demo.Demo.
type Demo interface {
	Running() *url.URL
	Start(ctx context.Context) (first *url.URL, err error)
	End()
}

// DemoHandlers start and stop the demo beside the server.
type DemoHandlers struct {
	*base
	Demo Demo
}

func (s DemoHandlers) routes(b *base) []route {
	s.base = b
	reply := reflect.TypeFor[api.Demo]()
	return []route{
		{method: http.MethodGet, path: Prefix + "/demo", name: "getDemo", summary: "Whether a demo runs beside this server",
			permission: auth.RunDemo, reply: reply, volatile: true, off: s.Demo == nil, handle: s.getDemo},
		{method: http.MethodPost, path: Prefix + "/demo", name: "startDemo",
			summary: "Start a demo: a server of its own with thirty simulated devices, for whoever is at this " +
				"server's machine. It ends with this server, and after four hours",
			permission: auth.RunDemo, reply: reply, volatile: true, conflicts: true, off: s.Demo == nil, handle: s.startDemo},
		{method: http.MethodDelete, path: Prefix + "/demo", name: "endDemo",
			summary: "End the demo, and throw away all that it had", permission: auth.RunDemo, volatile: true,
			off: s.Demo == nil, handle: s.endDemo},
	}
}

func (s DemoHandlers) getDemo(r *request) (reply, error) {
	out := api.Demo{Unreachable: unreachableDemo(r.Request)}
	if at := s.Demo.Running(); at != nil {
		out.URL = apart(at, r.Host)
	}
	return show(out)
}

func (s DemoHandlers) startDemo(r *request) (reply, error) {
	if why := unreachableDemo(r.Request); why != "" {
		return reply{}, &fleet.Error{Code: fleet.CodeConflict, Message: why,
			Hint: "Type on your own machine: muster serve --demo 30"}
	}
	first, err := s.Demo.Start(r.Context())
	if err != nil {
		return reply{}, err
	}
	return show(api.Demo{URL: apart(&url.URL{Scheme: first.Scheme, Host: first.Host, Path: "/ui/"}, r.Host),
		First: apart(first, r.Host)})
}

func (s DemoHandlers) endDemo(*request) (reply, error) {
	s.Demo.End()
	return reply{status: http.StatusNoContent}, nil
}

// unreachableDemo says why the client could not reach a demo, or returns "" when the client is on this machine.
func unreachableDemo(r *http.Request) string {
	if auth.LoopbackHost(r.Host) && auth.LoopbackHost(r.RemoteAddr) && !auth.Forwarded(r) {
		return ""
	}
	return "a demo is reached on the server's own machine alone, and you are on another one"
}

// apart returns the demo's address with another name of this machine than the client uses here. Browsers do not
// distinguish ports in cookies, so a log-in there would otherwise end the one here.
func apart(at *url.URL, here string) string {
	name := "localhost"
	if host, _, err := net.SplitHostPort(here); err == nil && strings.EqualFold(host, name) {
		return at.String()
	}
	there := *at
	there.Host = net.JoinHostPort(name, at.Port())
	return there.String()
}
