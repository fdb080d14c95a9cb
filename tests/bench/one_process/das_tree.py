# mypy: disable-error-code="untyped-decorator"
"""The dominance-aggregation search tree of k-SKB, compiled: the peer that `sketch/k-skb` is measured against.

Zhang et al. 2010, section 4.4: an AVL tree with the pairs at its leaves, in the order of their hashes. What dominates a
whole subtree is counted once, in the `alpha` of its root; `beta` is the largest sum of alphas on the ways down from it.
A leaf whose way down from the root sums to k is dominated by k others and goes. Times are row numbers: none are tied.

Corrected where the text is wrong: a row whose hash is there already counts for the younger pairs with larger hashes
only, so both children are visited unless wholly younger or wholly older than the pair it replaces; it takes over that
pair's leaf, as the paper's remarks suggest. Left out, in the tree's favour: the second tree, on times, and the subtree
sizes, which only the paper's query needs.
"""

from typing import Any

import numpy as np
from numba import njit

NODE = np.dtype(
    [
        ("key", np.uint64),  # of a leaf its hash; of an inner node, above all on its left, at most all on its right
        ("oldest", np.int64),
        ("youngest", np.int64),
        ("alpha", np.int32),
        ("beta", np.int32),
        ("left", np.int32),
        ("right", np.int32),
        ("parent", np.int32),
        ("height", np.int32),
    ]
)
HEAD = 0
"""The first node: `left` is the root, `right` the first free node, `height` the nodes in use. As a link, it is none."""


@njit(cache=True)
def kept_rows(hashes: Any, k: int) -> Any:
    """The rows, youngest first, whose pairs are the k-skyband of all rows: int64[kept].

    hashes: uint64[n], oldest first. O(log kept) a row with a new hash, O(nodes visited) a row with a known one.
    """
    nodes, queue = np.zeros(64, NODE), np.empty(64, np.int64)
    nodes[HEAD].height = 1
    for row in range(len(hashes)):
        if nodes[HEAD].height + 2 > len(nodes):
            nodes, queue = _widened(nodes), np.empty(2 * len(queue), np.int64)
        found = _leaf_near(nodes, hashes[row])
        known = found != HEAD and nodes[found].key == hashes[row]
        if known:
            _count_younger(nodes, queue, hashes[row], nodes[found].oldest)
        else:
            _count_all(nodes, hashes[row])
        _drop_dominated(nodes, k)
        _take_over(nodes, hashes[row], row, known)
    return _rows(nodes, queue)


@njit(cache=True)
def _leaf_near(nodes: Any, value: np.uint64) -> int:
    """The leaf of a hash, or one beside where it would be."""
    node = nodes[HEAD].left
    while nodes[node].height > 0 and node != HEAD:
        node = nodes[node].left if value < nodes[node].key else nodes[node].right
    return node


@njit(cache=True)
def _count_all(nodes: Any, value: np.uint64) -> None:
    """One more dominates all larger hashes (step 1, case 1)."""
    node = nodes[HEAD].left
    if node == HEAD:
        return
    while nodes[node].height > 0:
        if value < nodes[node].key:
            nodes[nodes[node].right].alpha += 1
            node = nodes[node].left
        else:
            node = nodes[node].right
    nodes[node].alpha += value < nodes[node].key
    node = nodes[node].parent
    while node != HEAD:
        _set_beta(nodes, node)
        node = nodes[node].parent


@njit(cache=True)
def _count_younger(nodes: Any, queue: Any, value: np.uint64, since: int) -> None:
    """One more dominates the larger hashes younger than `since` (step 1, case 2).

    queue: int64[nodes], scratch: the nodes to visit, parents first; ~node where all of its hashes are larger.
    """
    queue[0] = nodes[HEAD].left
    visit, end = 0, 1
    while visit < end:
        larger = queue[visit] < 0
        node = ~queue[visit] if larger else queue[visit]
        queue[visit] = HEAD
        if nodes[node].youngest > since:
            if nodes[node].height == 0:
                nodes[node].alpha += value < nodes[node].key
            elif larger and nodes[node].oldest > since:
                nodes[node].alpha += 1
            else:
                queue[visit] = node
                if larger or value < nodes[node].key:
                    queue[end] = ~nodes[node].left if larger else nodes[node].left
                    queue[end + 1] = ~nodes[node].right
                    end += 2
                else:
                    queue[end] = nodes[node].right
                    end += 1
        visit += 1
    for visited in range(end - 1, -1, -1):
        if queue[visited] != HEAD:
            _set_beta(nodes, queue[visited])


@njit(cache=True)
def _drop_dominated(nodes: Any, k: int) -> None:
    """Remove the leaves that k others dominate (step 2)."""
    root = nodes[HEAD].left
    while root != HEAD and nodes[root].alpha + nodes[root].beta >= k:
        leaf = root
        while nodes[leaf].height > 0:
            left, right = nodes[leaf].left, nodes[leaf].right
            more = nodes[left].alpha + nodes[left].beta >= nodes[right].alpha + nodes[right].beta
            leaf = left if more else right
        inner = nodes[leaf].parent
        _free(nodes, leaf)
        if inner == HEAD:
            nodes[HEAD].left = HEAD
        else:
            sibling = nodes[inner].right if nodes[inner].left == leaf else nodes[inner].left
            above = nodes[inner].parent
            nodes[sibling].alpha += nodes[inner].alpha
            _put(nodes, above, inner, sibling)
            _free(nodes, inner)
            _settle(nodes, above)
        root = nodes[HEAD].left


@njit(cache=True)
def _take_over(nodes: Any, value: np.uint64, row: int, known: bool) -> None:
    """Give the row the leaf of its hash, or a new one, that nothing dominates (step 3)."""
    node = nodes[HEAD].left
    while nodes[node].height > 0 and node != HEAD:
        _hand_down(nodes, node)
        node = nodes[node].left if value < nodes[node].key else nodes[node].right
    leaf = node
    if not known:
        leaf = _new(nodes, value)
        if node == HEAD:
            nodes[HEAD].left, nodes[leaf].parent = leaf, HEAD
        else:
            inner = _new(nodes, max(value, nodes[node].key))
            _put(nodes, nodes[node].parent, node, inner)
            first = leaf if value < nodes[node].key else node
            last = node if value < nodes[node].key else leaf
            nodes[inner].left, nodes[inner].right = first, last
            nodes[leaf].parent, nodes[node].parent = inner, inner
    nodes[leaf].alpha, nodes[leaf].oldest, nodes[leaf].youngest = 0, row, row
    _settle(nodes, nodes[leaf].parent)


@njit(cache=True)
def _settle(nodes: Any, node: int) -> None:
    """Balance and bring up to date a node whose children changed, and all above it."""
    while node != HEAD:
        _bring_up_to_date(nodes, node)
        left, right = nodes[node].left, nodes[node].right
        lean = nodes[left].height - nodes[right].height
        if lean > 1 or lean < -1:
            child = left if lean > 1 else right
            inside = nodes[child].right if lean > 1 else nodes[child].left
            outside = nodes[child].left if lean > 1 else nodes[child].right
            _hand_down(nodes, node)
            _hand_down(nodes, child)
            if nodes[inside].height > nodes[outside].height:
                _hand_down(nodes, inside)
                _rotate(nodes, inside)
                child = inside
            _rotate(nodes, child)
            node = child
        node = nodes[node].parent


@njit(cache=True)
def _rotate(nodes: Any, node: int) -> None:
    """Raise a node above its parent; their alphas must be 0."""
    parent = nodes[node].parent
    if nodes[parent].left == node:
        moved = nodes[node].right
        nodes[parent].left, nodes[node].right = moved, parent
    else:
        moved = nodes[node].left
        nodes[parent].right, nodes[node].left = moved, parent
    nodes[moved].parent = parent
    _put(nodes, nodes[parent].parent, parent, node)
    nodes[parent].parent = node
    _bring_up_to_date(nodes, parent)
    _bring_up_to_date(nodes, node)


@njit(cache=True)
def _put(nodes: Any, parent: int, old: int, new: int) -> None:
    """Replace a child; HEAD's only child is on its left."""
    if nodes[parent].left == old:
        nodes[parent].left = new
    else:
        nodes[parent].right = new
    nodes[new].parent = parent


@njit(cache=True)
def _hand_down(nodes: Any, node: int) -> None:
    """Count at both children what has been counted at an inner node."""
    alpha = nodes[node].alpha
    nodes[nodes[node].left].alpha += alpha
    nodes[nodes[node].right].alpha += alpha
    nodes[node].beta += alpha
    nodes[node].alpha = 0


@njit(cache=True)
def _bring_up_to_date(nodes: Any, node: int) -> None:
    left, right = nodes[node].left, nodes[node].right
    _set_beta(nodes, node)
    nodes[node].oldest = min(nodes[left].oldest, nodes[right].oldest)
    nodes[node].youngest = max(nodes[left].youngest, nodes[right].youngest)
    nodes[node].height = 1 + max(nodes[left].height, nodes[right].height)


@njit(cache=True)
def _set_beta(nodes: Any, node: int) -> None:
    """Equation 4."""
    left, right = nodes[node].left, nodes[node].right
    nodes[node].beta = max(nodes[left].alpha + nodes[left].beta, nodes[right].alpha + nodes[right].beta)


@njit(cache=True)
def _new(nodes: Any, key: np.uint64) -> int:
    node = nodes[HEAD].right
    if node == HEAD:
        node = nodes[HEAD].height
        nodes[HEAD].height += 1
    else:
        nodes[HEAD].right = nodes[node].right
    nodes[node].key = key
    nodes[node].alpha, nodes[node].beta, nodes[node].height = 0, 0, 0
    return node


@njit(cache=True)
def _free(nodes: Any, node: int) -> None:
    nodes[node].right = nodes[HEAD].right
    nodes[HEAD].right = node


@njit(cache=True)
def _widened(nodes: Any) -> Any:
    wider = np.zeros(2 * len(nodes), NODE)
    wider[: len(nodes)] = nodes
    return wider


@njit(cache=True)
def _rows(nodes: Any, queue: Any) -> Any:
    rows, kept = np.empty(len(nodes), np.int64), 0
    queue[0] = nodes[HEAD].left
    end = 0 if nodes[HEAD].left == HEAD else 1
    while end > 0:
        end -= 1
        node = queue[end]
        if nodes[node].height == 0:
            rows[kept] = nodes[node].oldest
            kept += 1
        else:
            queue[end], queue[end + 1] = nodes[node].left, nodes[node].right
            end += 2
    return np.sort(rows[:kept])[::-1].copy()
