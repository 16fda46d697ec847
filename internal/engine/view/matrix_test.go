package view

import (
	"fmt"
	"slices"
	"testing"

	"muster/internal/fleet"
)

// matrixWorld has three devices with folders and one without.
func matrixWorld() (*View, *fleet.Registry) {
	w, registry := newWorld(), registryOf("A", "B", "C", "D")
	needs := map[string]fleet.FolderSummary{"p": {NeedBytes: 5}}
	w.put("A", fleet.State{Connection: fleet.Online}, fleet.Snapshot{Folders: labels("p", "Photos", "q", "Music")})
	w.put("B", fleet.State{Connection: fleet.Online}, fleet.Snapshot{Folders: labels("p", "Photos"), Summaries: needs})
	w.put("C", fleet.State{Connection: fleet.Unreachable}, fleet.Snapshot{Folders: labels("r", "Team")})
	w.put("D", fleet.State{Connection: fleet.Online}, fleet.Snapshot{})
	return w.view(), registry
}

func TestAMatrixIsReadInParts(t *testing.T) {
	for _, test := range []struct {
		name string
		q    MatrixQuery
		want string // devices, folders with the number of their cells, matched devices and folders, next
	}{
		{"whole", MatrixQuery{}, "[A B C] [p2 q1 r1] 3 3 0"},
		{"first devices", MatrixQuery{Devices: Query{Limit: 1}}, "[A] [p1 q1] 3 2 1"},
		{"next devices", MatrixQuery{Devices: Query{Limit: 1, Offset: 1}}, "[B] [p1] 3 1 2"},
		{"last devices", MatrixQuery{Devices: Query{Limit: 1, Offset: 2}}, "[C] [r1] 3 1 0"},
		{"behind the last", MatrixQuery{Devices: Query{Limit: 1, Offset: 9}}, "[] [] 3 0 0"},
		{"filtered", MatrixQuery{Devices: Query{Connections: []fleet.Connection{fleet.Online}}}, "[A B] [p2 q1] 2 2 0"},
		{"backwards", MatrixQuery{Devices: Query{Sort: "label", Descending: true}}, "[C B A] [p2 q1 r1] 3 3 0"},
		{"one folder", MatrixQuery{Folder: "mus"}, "[A B C] [q1] 3 1 0"},
		{"first folders", MatrixQuery{FolderLimit: 2}, "[A B C] [p2 q1] 3 3 0"},
		{"next folders", MatrixQuery{FolderLimit: 2, FolderStart: 2}, "[A B C] [r1] 3 3 0"},
		{"behind the last folder", MatrixQuery{FolderStart: 9}, "[A B C] [] 3 3 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v, registry := matrixWorld()
			m, err := v.Matrix(t.Context(), registry, test.q)
			if err != nil {
				t.Fatal(err)
			}
			devices, folders := []string{}, []string{}
			for _, d := range m.Devices {
				devices = append(devices, d.Device.Label)
			}
			for _, f := range m.Folders {
				folders = append(folders, fmt.Sprint(f.Folder, len(f.Cells)))
				for _, cell := range f.Cells {
					if cell.Device < 0 || cell.Device >= len(m.Devices) {
						t.Errorf("a cell of %s is in column %d of %d", f.Folder, cell.Device, len(m.Devices))
					}
				}
			}
			got := fmt.Sprint(devices, " ", folders, " ", m.MatchedDevices, m.MatchedFolders, m.Next)
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestAMatrixIsNeverLargerThanItsBounds(t *testing.T) {
	w, registry := newWorld(), registryOf()
	for i := range MaxMatrixDevices + 5 {
		id := fleet.DeviceID(fmt.Sprintf("%03d", i))
		registry.Devices[id] = &fleet.Registered{Device: fleet.Device{ID: id, Label: string(id)}}
		var folders []string
		for j := range MaxMatrixFolders + 5 {
			folders = append(folders, fmt.Sprintf("f%03d", j), "")
		}
		w.put(id, fleet.State{Connection: fleet.Online}, fleet.Snapshot{Folders: labels(folders...)})
	}
	m, err := w.view().Matrix(t.Context(), registry, MatrixQuery{Devices: Query{Limit: 100_000}, FolderLimit: 100_000})
	if err != nil || len(m.Devices) != MaxMatrixDevices || len(m.Folders) != MaxMatrixFolders ||
		m.MatchedDevices != MaxMatrixDevices+5 || m.MatchedFolders != MaxMatrixFolders+5 || m.Next != MaxMatrixDevices {
		t.Errorf("got %d devices of %d, %d folders of %d, next %d, %v", len(m.Devices), m.MatchedDevices, len(m.Folders),
			m.MatchedFolders, m.Next, err)
	}
}

func TestTheFirstPeersOfAShareAreThoseThatDoNotShareItBack(t *testing.T) {
	share := SharedFolder{}
	add := func(id fleet.DeviceID, connected bool, side Side) {
		share.Peers = append(share.Peers, SharePeer{FolderPeer: fleet.FolderPeer{Device: id}, Connected: connected,
			KnowsConnected: true, Side: side})
	}
	add("A", true, BothSides)
	add("B", true, BothSides)
	add("C", true, OnlyHere)
	add("D", false, BothSides)
	add("E", false, OnlyHere)
	ids := func(peers []SharePeer) (all []fleet.DeviceID) {
		for _, peer := range peers {
			all = append(all, peer.Device)
		}
		return all
	}
	if got := ids(share.FirstPeers(1)); !slices.Equal(got, []fleet.DeviceID{"C", "E"}) {
		t.Errorf("the first one of each is %v", got)
	}
	if got := ids(share.FirstPeers(2)); !slices.Equal(got, []fleet.DeviceID{"C", "E", "A", "D"}) {
		t.Errorf("the first two of each are %v", got)
	}
	if got := ids(share.FirstPeers(0)); !slices.Equal(got, []fleet.DeviceID{"A", "B", "C", "D", "E"}) {
		t.Errorf("without a limit they are %v", got)
	}
	if got := ids(share.OneSided().Peers); !slices.Equal(got, []fleet.DeviceID{"C", "E"}) {
		t.Errorf("not shared back by %v", got)
	}
	if got := share.Connected(); got != 3 || len(share.Peers) != 5 {
		t.Errorf("%d of %d are connected", got, len(share.Peers))
	}
}
