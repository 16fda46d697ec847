package health

import (
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"muster/internal/fleet"
)

// mostBytes is what Muster may keep of a folder of a device to judge it.
const mostBytes = 256

const foldersOfDevice = 50

// numbered is an ID of the length of real ones.
func numbered(i int) fleet.DeviceID { return fleet.DeviceID(fmt.Sprintf("%063d", i)) }

// sharing are snapshots of devices with 50 folders each, which so many of them share.
func sharing(devices, devicesOfFolder int) map[fleet.DeviceID]*fleet.Snapshot {
	ids := make([]fleet.DeviceID, devices)
	for i := range ids {
		ids[i] = numbered(i)
	}
	all := make(map[fleet.DeviceID]*fleet.Snapshot, devices)
	for i, id := range ids {
		first := i - i%devicesOfFolder
		var others []fleet.DeviceID
		for _, other := range ids[first:min(first+devicesOfFolder, devices)] {
			if other != id {
				others = append(others, other)
			}
		}
		s := online(id, others...)
		folder, share, summary := s.Folders[0], s.Shares[0], s.Summaries[s.Folders[0].Folder]
		s.Folders, s.Shares, s.Summaries = nil, nil, make(map[string]fleet.FolderSummary, foldersOfDevice)
		for n := range foldersOfDevice {
			folder.Folder = fmt.Sprintf("folder-%06d-%02d", first, n)
			share.Folder, summary.Folder = folder.Folder, folder.Folder
			s.Folders, s.Shares = append(s.Folders, folder), append(s.Shares, share)
			s.Summaries[folder.Folder] = summary
		}
		all[id] = s
	}
	return all
}

// bytesPerFolder is how much memory Folders takes for each folder of a device.
func bytesPerFolder(tb testing.TB, devices, devicesOfFolder int) float64 {
	tb.Helper()
	snapshots := sharing(devices, devicesOfFolder)
	before := heapInUse()
	f := NewFolders(Windows{})
	f.Update(snapshots, &fleet.Registry{}, noon)
	f.Changed()
	after := heapInUse()
	if state, _ := f.State(numbered(devices-1), fmt.Sprintf("folder-%06d-00",
		devices-devicesOfFolder)); devicesOfFolder > 1 && state != fleet.FolderUpToDate {
		tb.Errorf("a folder is %v", state)
	}
	runtime.KeepAlive(snapshots)
	return (after - before) / float64(devices*foldersOfDevice)
}

func heapInUse() float64 {
	var stats runtime.MemStats
	runtime.GC() // twice: what the first one finalizes goes with the second
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

func TestAFolderOfADeviceTakesLittleMemory(t *testing.T) {
	if size := unsafe.Sizeof(folderRecord{}); size > 48 {
		t.Errorf("a record has %d bytes, and DESIGN.md says 48", size)
	}
	for _, devices := range []int{1, 2, 5, 100} { // that share a folder
		if got := bytesPerFolder(t, 400, devices); got > mostBytes {
			t.Errorf("a folder that %d devices share takes %.0f bytes on each, more than %d", devices, got, mostBytes)
		}
	}
}

// BenchmarkMemoryOfFolders has 10,000 devices with 50 folders each, which five of them share.
func BenchmarkMemoryOfFolders(b *testing.B) {
	for b.Loop() {
		got := bytesPerFolder(b, 10_000, 5)
		b.ReportMetric(got, "B/folder")
		if got > mostBytes {
			b.Errorf("a folder of a device takes %.0f bytes, more than %d", got, mostBytes)
		}
	}
}
