package scenarios

import (
	"regexp"
	"sync"
)

var clockForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\S+)\s+([+-]\S+|right)$`) })
