package objects

// cached is how many blocks are kept in memory, because files of one directory are often in one block.
const cached = 8

// cache has the blocks that were read last. The zero value is empty.
type cache struct {
	at     [cached]place
	blocks [cached]*block
	next   int
}

func (c *cache) get(at place) *block {
	for i, b := range c.blocks {
		if b != nil && c.at[i].pack == at.pack && c.at[i].offset == at.offset {
			return b
		}
	}
	return nil
}

func (c *cache) put(at place, b *block) {
	c.at[c.next], c.blocks[c.next] = at, b
	c.next = (c.next + 1) % cached
}
