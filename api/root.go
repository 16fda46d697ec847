package api

// FolderRoots are the directories below which templates of authors may put folders without consent.
type FolderRoots struct {
	FolderRoots []string `json:"folderRoots" nullable:"false" doc:"Each begins with ~ (the home directory of the daemon's user), with / or with a drive such as C:\\"`
}

// PutFolderRoots is the body of a PUT of folder roots: it replaces them all.
type PutFolderRoots struct {
	FolderRoots []string `json:"folderRoots" nullable:"false"`
}

// TagSettings are the settings of all devices with a tag.
type TagSettings struct {
	ModeSetting
	FolderRoots
}

// TagSettingsStored is the answer to a PUT of them: the mode is in force as far as there is no warning.
type TagSettingsStored struct {
	ModeSwitched
	FolderRoots
}

// PutTagSettings is its body; what is left out stays.
type PutTagSettings struct {
	Mode        *string  `json:"mode,omitempty" enum:"on,observe,paused"`
	FolderRoots []string `json:"folderRoots,omitzero" nullable:"false" doc:"Added to those of the fleet; only an admin may set them"`
}

// TemplateSaver is who last saved what a template says: its op, key and text.
type TemplateSaver struct {
	Name string `json:"name" doc:"Of the token; blank when it was not kept"`
	Role string `json:"role" doc:"Of the token at that time; blank when it was not kept, which counts as below admin" enum:",author,admin"`
}
