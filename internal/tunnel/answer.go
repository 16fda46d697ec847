package tunnel

import (
	"io"
	"net/http"
	"strings"

	"muster/internal/fleet"
)

const maxReason = 300 // bytes of an agent's own words in a message

// refused is the error that an agent answers itself, in place of its daemon; nil where the daemon answers. It reads and
// closes the body then.
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
	case ErrorForbidden:
		e.Code, e.Message = fleet.CodeNotFound, "the device's agent does not let this request through"
		if writes {
			e.Code = fleet.CodeRejected
		}
		e.Hint = "Update the agent: it is older than this server."
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
