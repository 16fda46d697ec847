package fleet

import "testing"

// A folder ID may contain what leads out of a directory, or what no file system takes.
func TestAProposedPathIsOneDirectoryBelowTheFirstRoot(t *testing.T) {
	for _, test := range []struct {
		roots        []string
		folder, want string
	}{
		{nil, "photos", "~/Sync/photos"},
		{[]string{"/data/", "/other"}, "photos", "/data/photos"},
		{[]string{`D:\Sync`}, "photos", `D:\Sync\photos`},
		{nil, "../../etc", "~/Sync/-..-etc"},
		{nil, "..", "~/Sync/folder"},
		{nil, " . ", "~/Sync/folder"},
		{nil, "a:b\x00$HOME", "~/Sync/a-b--HOME"},
	} {
		if got := ProposedPath(test.roots, test.folder); got != test.want {
			t.Errorf("%q in %q: got %q, want %q", test.folder, test.roots, got, test.want)
		}
	}
}
