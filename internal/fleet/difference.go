package fleet

// Difference is what some generations changed together.
type Difference struct {
	Templates []TemplateDifference // by ID
	Tags      []TagDifference
	Vars      []VarsDifference // of devices, then of tags, each sorted
}

// VarsDifference is the vars of a device or tag before and after.
type VarsDifference struct {
	VarsOwner
	Before, After Vars
}

// TemplateDifference is a template before and after.
type TemplateDifference struct {
	ID     int64
	Label  string
	Before *Template // nil for one that was not there
	After  *Template // nil for one that was deleted
}

// TagDifference says that a tag was put on a device or a template, or taken off.
type TagDifference struct {
	Tag      Tag
	Device   DeviceID // "" for a template
	Template int64    // 0 for a device
	Carried  bool
}
