package local

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/picklock/picklock/compose"
)

// vars are the values behind {name}, {addr}, {etcd1.port2} and the like.
type vars map[string]string

func nodeVars(self string, d *compose.Definition, nodes map[string]*node, of *node, extra map[string]string) vars {
	v := vars{"self": self}
	for k, x := range extra {
		v[k] = x
	}
	for i, s := range d.Members() {
		n := nodes[s.Name]
		put := func(prefix string) {
			v[prefix+"name"], v[prefix+"addr"], v[prefix+"number"] = n.name, n.addr, strconv.Itoa(i+1)
			for j, p := range n.ports {
				name := "port"
				if j > 0 {
					name += strconv.Itoa(j + 1)
				}
				v[prefix+name] = strconv.Itoa(p)
			}
		}
		put(n.name + ".")
		if n == of {
			put("")
		}
	}
	v["dir"] = of.dir
	return v
}

var placeholder = regexp.MustCompile(`\{[a-z][a-zA-Z0-9_.-]*\}`)

// expand replaces the placeholders of text. Braces that hold no name are left
// alone: configuration files have braces of their own.
func (v vars) expand(text string) (string, error) {
	var unknown []string
	out := placeholder.ReplaceAllStringFunc(text, func(p string) string {
		x, ok := v[p[1:len(p)-1]]
		if !ok {
			unknown = append(unknown, p)
		}
		return x
	})
	if len(unknown) > 0 {
		return "", fmt.Errorf("%s: no such value in x-picklock.local", strings.Join(unknown, ", "))
	}
	return out, nil
}
