/** Paths: from step to step, as wide as they were taken. Placed by d3-sankey, drawn as SVG. */
import { sankey, sankeyLinkHorizontal } from 'd3-sankey'
import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { formatNumber } from '../format.ts'
import { SideScroll } from '../side-scroll.tsx'
import { seriesColour } from './chart-data.ts'
import { type PathNode, readPathNode } from './path-names.ts'
import style from './paths-chart.module.css'
import { useWidth } from './use-width.ts'

/** The number of times that one step led to the next; names are unique per step: `1_/pricing`. */
type PathLink = {
  readonly source: string
  readonly target: string
  readonly value: number
}

type PathsChartProps = {
  readonly label: string
  readonly links: readonly PathLink[]
  readonly onPickLink: (link: PathLink) => void
  /** Called with a clicked step and its number. */
  readonly onPickNode: (name: string, value: number) => void
}

const NODE_PX = 12
const STEP_WIDTH_MIN = 190
const NODE_HEIGHT = 34

/** Draws the paths; wide ones scroll inside of the chart. */
export function PathsChart({ label, links, onPickLink, onPickNode }: PathsChartProps): VNode {
  const [box, box_width] = useWidth<HTMLDivElement>()
  const [at, setAt] = useState<string | null>(null)
  const placed = useMemo(() => layOutPaths(links, box_width), [links, box_width])
  return (
    <SideScroll box={box} label={label}>
      {box_width > 0 && (
        <svg
          class={style.chart}
          width={placed.width}
          height={placed.height}
          role="img"
          aria-label={label}
        >
          {placed.links.map((link) => {
            const is_at = at === link.from.name || at === link.to.name
            return (
              // The table beside the chart does the same by keyboard.
              // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-static-element-interactions
              <path
                key={`${link.from.name}→${link.to.name}`}
                d={link.d}
                class={`${style.link} ${at === null || is_at ? '' : style.faint}`}
                stroke={seriesColour(link.colour)}
                stroke-width={Math.max(1.5, link.width)}
                onClick={() => onPickLink(link.link)}
              >
                <title>{`${link.from.text} → ${link.to.text}: ${formatNumber(link.link.value)}`}</title>
              </path>
            )
          })}
          {placed.nodes.map((node) => (
            <PathStep
              key={node.name}
              node={node}
              text_length={placed.text_length}
              onEnter={setAt}
              onPick={onPickNode}
            />
          ))}
        </svg>
      )}
    </SideScroll>
  )
}

type PlacedNode = PathNode & {
  /** Without the host that all share. */
  readonly short: string
  readonly x: number
  readonly y: number
  readonly height: number
  readonly value: number
  readonly colour: number
}

type PathNodeProps = {
  readonly node: PlacedNode
  readonly text_length: number
  readonly onEnter: (name: string | null) => void
  readonly onPick: (name: string, value: number) => void
}

function PathStep({ node, text_length, onEnter, onPick }: PathNodeProps): VNode {
  const { name, text, short, value, x, y, height, colour } = node
  const text_x = x + NODE_PX + 6
  const text_y = y + Math.min(height / 2, 12)
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-static-element-interactions
    <g
      class={style.node}
      onMouseEnter={() => onEnter(name)}
      onMouseLeave={() => onEnter(null)}
      onClick={() => onPick(name, value)}
    >
      <title>{`${text}: ${formatNumber(value)}`}</title>
      <rect x={x} y={y} width={NODE_PX} height={height} rx="3" fill={seriesColour(colour)} />
      <text x={text_x} y={text_y} dy="0.1em">
        {shortenText(short, text_length)}
      </text>
      <text class={style.count} x={text_x} y={text_y + 15}>
        {formatNumber(value)}
      </text>
    </g>
  )
}

/** Scheme and host when all URLs of the answer have the same; they are left out. Empty otherwise. */
function commonOrigin(texts: readonly string[]): string {
  const [, origin = ''] = /^(https?:\/\/[^/]+)/.exec(texts[0] ?? '') ?? []
  return origin !== '' && texts.every((text) => text.startsWith(origin)) ? origin : ''
}

/** Computes the places of steps and links, as wide as the box or wider. */
function layOutPaths(links: readonly PathLink[], box_width: number) {
  const names = [...new Set(links.flatMap(({ source, target }) => [source, target]))]
  const path_nodes = names.map(readPathNode)
  const origin = commonOrigin(path_nodes.map(({ text }) => text))
  const colours = new Map(
    [...new Set(path_nodes.map(({ text }) => text))].map((text, index) => [text, index]),
  )
  const steps = Math.max(1, ...path_nodes.map(({ step }) => step))
  const most = Math.max(
    1,
    ...Array.from(
      { length: steps },
      (_, index) => path_nodes.filter(({ step }) => step === index + 1).length,
    ),
  )
  const width = Math.max(box_width, steps * STEP_WIDTH_MIN)
  const height = Math.max(280, most * NODE_HEIGHT + 40)
  const text_px = width / steps - NODE_PX - 24
  const layout = sankey<PathNode, PathLink>()
    .nodeId(({ name }) => name)
    .nodeAlign(({ step }) => step - 1)
    .nodeWidth(NODE_PX)
    .nodePadding(Math.min(28, (height * 0.6) / most))
    .extent([
      [1, 8],
      [width - text_px, height - 16],
    ])
  // The layout writes into its input, so it gets copies.
  const graph = layout({
    nodes: path_nodes.map((node) => ({ ...node })),
    links: links.map((link) => ({ ...link })),
  })
  const draw = sankeyLinkHorizontal()
  const colourOf = ({ text }: PathNode): number => colours.get(text) ?? 0
  return {
    width,
    height,
    text_length: Math.max(6, Math.floor(text_px / 7)),
    nodes: graph.nodes.map((node) => ({
      ...readPathNode(node.name),
      short: node.text.slice(origin.length) || '/',
      x: node.x0 ?? 0,
      y: node.y0 ?? 0,
      height: Math.max(3, (node.y1 ?? 0) - (node.y0 ?? 0)),
      value: node.value ?? 0,
      colour: colourOf(node),
    })),
    links: graph.links.flatMap((link, index) => {
      const source_link = links[index]
      if (source_link === undefined) return []
      const [from, to] = [readPathNode(source_link.source), readPathNode(source_link.target)]
      const d = draw(link) ?? ''
      return [{ from, to, d, width: link.width ?? 1, colour: colourOf(from), link: source_link }]
    }),
  }
}

function shortenText(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`
}
