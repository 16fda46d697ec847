import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

/** Curve draws numbers over time, without axes: the numbers beside it say how much. Where none are known it has a gap. */
export default function Curve({ at, values, label }: { at: number[]; values: number[]; label: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = place.current;
    if (!box) return;
    const colour = getComputedStyle(box).getPropertyValue("--u-accent").trim();
    const plot = new uPlot(
      {
        width: box.clientWidth,
        height: box.clientHeight,
        padding: [4, 0, 0, 0],
        cursor: { show: false },
        legend: { show: false },
        axes: [{ show: false }, { show: false }],
        scales: { y: { range: (_, min, max) => [Math.min(0, min), Math.max(1, max)] } },
        series: [{}, { stroke: colour, width: 1.5, fill: `${colour}1f`, points: { show: false } }],
      },
      [at, values],
      box,
    );
    const resize = new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: box.clientHeight }));
    resize.observe(box);
    return () => {
      resize.disconnect();
      plot.destroy();
    };
  }, [at, values]);
  return <div className="u-curve" ref={place} role="img" aria-label={label} />;
}
