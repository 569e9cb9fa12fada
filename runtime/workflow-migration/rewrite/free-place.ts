import type { WorkflowNode } from '../contract';

export const STICKY_NOTE = 'n8n-nodes-base.stickyNote';

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const NODE_SIZE = 100;
const GAP = 40;
const MAX_TRIES = 20;

/** What a note must not cover. The builder's own notes are frames around nodes more often than not: they may lie behind ours. */
export function boxesOf(nodes: readonly WorkflowNode[]): readonly Box[] {
  return nodes
    .filter(({ type }) => type !== STICKY_NOTE)
    .map(({ position: [x, y] }) => ({ x, y, width: NODE_SIZE, height: NODE_SIZE }));
}

/** The same place, or one further up where nothing is. Notes lie behind nodes, so that a covered one could not be read. */
export function freePlace(wanted: Box, boxes: readonly Box[]): Box {
  let place = wanted;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const covered = boxes.filter((box) => overlap(box, place));
    if (covered.length === 0) return place;
    const top = covered.reduce((least, { y }) => Math.min(least, y), place.y + place.height);
    place = { ...place, y: top - place.height - GAP };
  }
  return wanted;
}

function overlap(one: Box, other: Box): boolean {
  const isBeside = one.x >= other.x + other.width || other.x >= one.x + one.width;
  const isAbove = one.y >= other.y + other.height || other.y >= one.y + one.height;
  return !isBeside && !isAbove;
}
