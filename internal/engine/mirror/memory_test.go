package mirror

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"muster/internal/fleet"
)

// What is kept of each folder of a device besides its counts costs at most 256 bytes, also where 200 devices share it.
func TestWhatIsKeptOfAFolderIsSmall(t *testing.T) {
	const devices, folders, sharers, most = 20, 50, 200, 256
	const countsOnly = 280 // bytes of a summary that has counts, state and error
	ids := make([]fleet.DeviceID, sharers)
	var members []string
	for i := range ids {
		ids[i] = id(i)
		members = append(members, fmt.Sprintf(`{"deviceID":%q}`, ids[i]))
	}
	var documents [devices][]byte
	for n := range documents {
		var all []string
		for i := range folders {
			all = append(all, fmt.Sprintf(`{"id":"folder-%02d","label":"L","path":"/home/sample/folders/%d/folder-%02d",`+
				`"type":"sendreceive","devices":[%s]}`, i, n, i, strings.Join(members, ",")))
		}
		own := fmt.Sprintf(`"name":"laptop"},{"deviceID":%q}`, ids[n])
		documents[n] = []byte(strings.Replace(string(document(strings.Join(all, ","))), `"name":"laptop"}`, own, 1))
	}
	type kept struct {
		shares            []fleet.SharedFolder
		paused, connected fleet.Peers
		indexes           [folders]fleet.Peers
	}
	all := make([]kept, devices)
	before := heap()
	for n := range all {
		r, err := ReadConfig(ids[n], documents[n])
		if err != nil {
			t.Fatal(err)
		}
		all[n] = kept{shares: r.Shares, paused: r.PausedPeers, connected: fleet.PeersOf(ids)}
		for i := range folders {
			all[n].indexes[i] = fleet.PeersOf(append([]fleet.DeviceID{}, ids...))
		}
	}
	allocated := heap() - before
	summary := int64(unsafe.Sizeof(fleet.FolderSummary{}))
	each := allocated/(devices*folders) + summary - countsOnly
	t.Logf("%d bytes for each folder of a device; a summary has %d", each, summary)
	if each > most {
		t.Errorf("%d bytes for each folder of a device, at most %d may be", each, most)
	}
	runtime.KeepAlive(all)
	runtime.KeepAlive(documents)
}
