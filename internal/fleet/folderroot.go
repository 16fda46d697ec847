package fleet

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Folder roots are the directories below which templates of authors may put folders without a person's consent.

const (
	MaxFolderRoots     = 100
	MaxFolderRootBytes = 1 << 10
)

// DefaultFolderRoot is the folder root that every fleet starts with.
const DefaultFolderRoot = "~/Sync"

// ParseFolderRoots checks a list of folder roots and returns it sorted and without duplicates. A root begins with `~`,
// with `/` or with a drive letter. Which of them exist on a device depends on its system.
func ParseFolderRoots(roots []string) ([]string, error) {
	if len(roots) > MaxFolderRoots {
		return nil, Invalidf("folderRoots", "there are at most %d folder roots, these are %d", MaxFolderRoots, len(roots))
	}
	for _, root := range roots {
		if err := checkFolderRoot(root); err != nil {
			return nil, err
		}
	}
	sorted := slices.Clone(roots)
	slices.Sort(sorted)
	return slices.Compact(sorted), nil
}

func checkFolderRoot(root string) error {
	switch {
	case root == "":
		return Invalidf("folderRoots", "a folder root is a path, not blank")
	case len(root) > MaxFolderRootBytes:
		return Invalidf("folderRoots", "a folder root has at most %d bytes, this one has %d", MaxFolderRootBytes, len(root))
	case !utf8.ValidString(root) || strings.ContainsFunc(root, unicode.IsControl):
		return Invalidf("folderRoots", "a folder root is UTF-8 text without control characters")
	}
	separates := func(r rune) bool { return r == '/' || r == '\\' }
	home := root == "~" || len(root) > 1 && root[0] == '~' && separates(rune(root[1]))
	drive := len(root) > 2 && root[1] == ':' && separates(rune(root[2])) && (root[0]|0x20 >= 'a' && root[0]|0x20 <= 'z')
	if !home && !drive && root[0] != '/' {
		return Invalidf("folderRoots",
			`folder root %q is not absolute: begin with ~/, with / or with a drive such as C:\`, root)
	}
	if slices.Contains(strings.FieldsFunc(root, separates), "..") {
		return Invalidf("folderRoots", "folder root %q leads upwards: write it without ..", root)
	}
	return nil
}

// ProposedPath is where a folder could be kept: in the first of some folder roots. A folder ID can contain what the
// name of a directory cannot. An ID of dots and blanks alone would name the folder root itself.
func ProposedPath(roots []string, folder string) string {
	root := DefaultFolderRoot
	if len(roots) > 0 {
		root = roots[0]
	}
	separator := "/"
	if strings.Contains(root, `\`) {
		separator = `\`
	}
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|%$~`, r) || !unicode.IsPrint(r) {
			return '-'
		}
		return r
	}, folder)
	return strings.TrimRight(root, `/\`) + separator + cmp.Or(strings.Trim(name, ". "), "folder")
}
