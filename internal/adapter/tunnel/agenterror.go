package tunnel

import (
	"io"
	"net/http"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// check returns the error of a request that the agent would refuse, according to its Hello. It returns nil when the
// agent would allow the request, and when the request is not on the list: then the agent itself refuses it.
func (h *Hello) check(request *http.Request) error {
	reads := request.Method == http.MethodGet
	if reads && h.List >= ListVersion {
		return nil
	}
	p, err := Admit(request.Method, request.URL.RequestURI())
	switch {
	case err != nil:
		return nil //nolint:nilerr // The agent refuses this request itself.
	case p.Rule.Since > h.List:
		e := &fleet.Error{Code: fleet.CodeRejected, Hint: updateAgent, Err: fleet.ErrOldAgent,
			Message: "the device's agent is too old for this: it does not let through " + TooOldFor(h.List)}
		if reads {
			e.Code = fleet.CodeNotFound
		}
		return e
	case p.Rule.Switch != "" && !slices.Contains(h.Allow, p.Rule.Switch):
		return &fleet.Error{Code: fleet.CodeRejected,
			Message: "the device's agent was started without --allow " + p.Rule.Switch + ", and does not let this through",
			Hint:    "The person who runs the agent decides that: start it with --allow " + p.Rule.Switch + "."}
	}
	return nil
}

const updateAgent = "Update the agent on the device's machine."

const maxReason = 300 // bytes of an agent's own text in a message

// refused returns the error in an answer that comes from the agent instead of its daemon. It returns nil when the
// answer comes from the daemon. It reads and closes the body of an agent's answer only.
func refused(request *http.Request, response *http.Response) error {
	code := response.Header.Get(ErrorHeader)
	if code == "" {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxReason))
	_ = response.Body.Close()
	writes := request.Method != http.MethodGet
	e := &fleet.Error{Code: fleet.CodeUnbelievable}
	switch code {
	case ErrorObserve:
		e.Code = fleet.CodeRejected
		e.Message = "the device's agent was started with --observe, and lets nothing change its daemon"
		e.Hint = "Start the agent without --observe, or set the device's mode to observe."
	case ErrorSwitch:
		e.Code, e.Message = fleet.CodeRejected, "the device's agent does not let this request through"
		e.Hint = "The person who runs the agent decides that: start it with --allow."
	case ErrorForbidden:
		e.Code, e.Message = fleet.CodeNotFound, "the device's agent does not let this request through"
		if writes {
			e.Code = fleet.CodeRejected
		}
		e.Hint, e.Err = "Update the agent: it is older than this server.", fleet.ErrOldAgent
	case ErrorTooLarge:
		e.Message, e.Hint = "the request or its answer is larger than the device's agent lets through", "Update the agent."
		if writes {
			e.Code = fleet.CodeRejected
		}
	case ErrorUnreachable:
		e.Code, e.Message = fleet.CodeUnavailable, "the device's agent is connected, and the daemon does not answer it"
		e.Hint = "Check that Syncthing runs on the agent's machine."
		if writes {
			e.Message += "; whether the change arrived is not known"
		}
	default:
		e.Message, e.Hint = "the device's agent refuses the request", "Update the agent."
	}
	if reason := strings.TrimSpace(printable(string(text))); reason != "" {
		e.Message += ": " + reason
	}
	return e
}
