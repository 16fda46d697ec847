package tunnel

import (
	"strings"
	"testing"

	"muster/internal/fleet"
)

// The state of a device said that its agent was not connected, and not why.
func TestTheReasonThatAnAgentWasCutOffIsTold(t *testing.T) {
	t.Parallel()
	m, certificate := startManager(t, accept), certificateOf(t)
	id := idOf(certificate)
	a := m.rawOn(m.dial(certificate), nil, func(a *rawAgent, _ uint32) { _ = a.data(0, true, []byte("{}")) })
	if _, _, err := get(t, m.untilAccepted(id), "/rest/"); err == nil {
		t.Error("data of no stream is an answer")
	}
	a.wantEnd(t)
	m.until("told", func() bool {
		_, err := m.Connected(id)
		return strings.HasSuffix(fleet.Reason(err), errProtocol.Error())
	})
	again := m.agent(certificate, nil)
	m.untilAccepted(id)
	_ = again.conn.Close()
	m.until("forgotten", func() bool {
		_, err := m.Connected(id)
		return strings.HasSuffix(fleet.Reason(err), "not connected")
	})
}
