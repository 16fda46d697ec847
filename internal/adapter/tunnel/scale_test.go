package tunnel

import (
	"net/http"
	"os"
	"strconv"
	"testing"
)

// An idle tunnel takes little memory. MUSTER_SOAK has thousands of agents. Both ends are in this process, and most of
// the far end is the standard library's server.
func TestAnIdleTunnelTakesLittleMemory(t *testing.T) {
	count := 200
	if os.Getenv("MUSTER_SOAK") != "" {
		count = 5000
		if n, err := strconv.Atoi(os.Getenv("MUSTER_TUNNELS")); err == nil {
			count = n
		}
	}
	m := startManager(t, accept)
	before := heap()
	for range count {
		m.agent(certificateOf(t), func(http.ResponseWriter, *http.Request) {}).wantState(t, Accepted)
	}
	m.until("all are there", func() bool { return m.Counts().Tunnels[Accepted] == count })
	each := (heap() - before) / int64(count)
	t.Logf("%d tunnels: %d KiB for each, both ends together", count, each>>10)
	if each > 160<<10 {
		t.Errorf("an idle tunnel takes %d KiB, want less than 160", each>>10)
	}
}
