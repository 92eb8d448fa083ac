package register

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// A model is a struct of int fields. A field with the tag full is a rule, and the tag gives the rule's level
// in the design. A field with the tag bound is a bound, and the tag gives its default. A text sets fields by
// their names in capitals, for example "PUSH=1 LOSSES=2".

// configure sets all rules and bounds of the model that m points to, first to the levels in their tags, and
// then to the levels in the text.
func configure(m any, text string) error {
	v := reflect.ValueOf(m).Elem()
	named := map[string]reflect.Value{}
	for _, f := range settings(m) {
		level, err := strconv.Atoi(f.Tag.Get("full") + f.Tag.Get("bound"))
		if err != nil {
			return fmt.Errorf("%s has no level: %w", f.Name, err)
		}
		field := v.FieldByIndex(f.Index)
		field.SetInt(int64(level))
		named[strings.ToUpper(f.Name)] = field
	}
	for word := range strings.FieldsSeq(text) {
		name, text, _ := strings.Cut(word, "=")
		level, err := strconv.Atoi(text)
		field, ok := named[name]
		if err != nil || !ok {
			return fmt.Errorf("%q is no setting of this model", word)
		}
		field.SetInt(int64(level))
	}
	return nil
}

// weakenings returns, for each rule of the model, all levels below the rule's level in the design, as "RULE=level".
func weakenings(m any) []string {
	var all []string
	for _, f := range settings(m) {
		full, _ := strconv.Atoi(f.Tag.Get("full")) // 0 for a bound, which has no levels
		for level := range full {
			all = append(all, fmt.Sprintf("%s=%d", strings.ToUpper(f.Name), level))
		}
	}
	return all
}

func settings(m any) []reflect.StructField {
	var fields []reflect.StructField
	for _, f := range reflect.VisibleFields(reflect.TypeOf(m).Elem()) {
		if !f.Anonymous {
			fields = append(fields, f)
		}
	}
	return fields
}
