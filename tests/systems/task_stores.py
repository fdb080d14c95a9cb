"""A shard's state as the tasks of Spark see it: what a task writes is there for the next one where it is committed."""

import copy


class Value:
    """A state variable of one value, as Spark's processors see it."""

    def __init__(self, store, name):
        self.store, self.name = store, name

    def exists(self):
        return self.name in self.store.held

    def get(self):
        return self.store.held[self.name]

    def update(self, value):
        self.store.held[self.name] = value


class Map:
    """A state variable of values by key."""

    def __init__(self, store, name):
        self.store, self.held = store, store.held.setdefault(name, {})

    def getValue(self, key):
        self.store.read += 1
        return self.held[key]

    def containsKey(self, key):
        return key in self.held

    def updateValue(self, key, value):
        self.store.written += sum(len(part) for part in value)
        self.held[key] = value

    def removeKey(self, key):
        del self.held[key]


class Store:
    """The state of one shard as some task sees it, with what it read and wrote."""

    def __init__(self, held=None):
        self.held = copy.deepcopy(held or {})
        self.read = self.written = 0

    def getValueState(self, name, schema):
        return Value(self, name)

    def getMapState(self, name, keys, values):
        return Map(self, name)
