// The picture of a graph: drawn by sigma from columns that the server laid out.
// Everything it shows can be read in the table that the page links to.

const stage = document.querySelector("#stage");
if (stage) explore(stage);

function explore(stage) {
  const canvas = stage.querySelector("#stage-canvas");
  const status = document.querySelector("#stage-status");
  const inspector = document.querySelector("#inspector");
  const { Sigma, graphology } = window;
  const { Drawing, Discs } = Sigma ? programs(Sigma, () => moving) : {};
  let address = new URL(stage.dataset.source, location.href);
  let drawing = null;
  let canvasWidth = canvas.clientWidth; // read once: reading it while labels are drawn costs a layout
  let graph = null;
  let columns = null;
  let order = [];
  const focus = stage.dataset.chosen ?? null;
  let chosen = null;
  let near = new Set();
  let asked = 0;
  let moving = 0; // a timer while the camera moves
  let labelledFrom = 6; // the size in pixels from which a node is named where there is room

  // --- Colors: the page's own, read again when light turns to dark ---------------------------------
  const paper = document.createElement("canvas").getContext("2d");

  function resolved(text) {
    // light-dark() and other notations become what WebGL understands.
    const probe = document.createElement("span");
    probe.className = "color-probe";
    probe.style.color = text;
    document.body.append(probe);
    paper.fillStyle = getComputedStyle(probe).color;
    probe.remove();
    return paper.fillStyle;
  }

  function theme() {
    const dark = getComputedStyle(document.documentElement).colorScheme;
    const isDark =
      document.documentElement.dataset.theme === "dark" ||
      (!document.documentElement.dataset.theme &&
        dark.includes("dark") &&
        matchMedia("(prefers-color-scheme: dark)").matches);
    return {
      isDark,
      text: resolved("var(--text)"),
      soft: resolved("var(--text-soft)"),
      ground: resolved("var(--surface)"),
      faint: isDark ? "#2a3240" : "#dfe4ec",
      edge: isDark ? "#3a4556" : "#c3ccd9",
      strong: isDark ? "#8fb0ff" : "#2854c5",
      appeared: isDark ? "#5ac587" : "#1f8a4c",
      vanished: isDark ? "#f08379" : "#c43c31",
      changed: isDark ? "#e3b04f" : "#b07400",
    };
  }

  function colorOfGroup(number) {
    if (number < 0) return tones.isDark ? "#7c8797" : "#8b95a5";
    const hue = (number * 137.508) % 360;
    return hsl(hue, tones.isDark ? 0.52 : 0.5, tones.isDark ? 0.66 : 0.44);
  }

  function hsl(hue, saturation, lightness) {
    const part = (n) => {
      const k = (n + hue / 30) % 12;
      const a = saturation * Math.min(lightness, 1 - lightness);
      const value = lightness - a * Math.max(-1, Math.min(k - 3, 9 - k, 1));
      return Math.round(255 * value).toString(16).padStart(2, "0");
    };
    return `#${part(0)}${part(8)}${part(4)}`;
  }

  let tones = theme();

  // --- Drawing --------------------------------------------------------------------------------------
  async function load({ keepsCamera = false } = {}) {
    const mine = ++asked;
    stage.setAttribute("aria-busy", "true");
    say("Drawing …");
    let answer;
    try {
      answer = await fetch(address, { headers: { Accept: "application/json" } });
    } catch {
      return say("The server does not answer. Reload in a moment.");
    }
    if (mine !== asked) return;
    if (!answer.ok || !(answer.headers.get("content-type") ?? "").includes("json")) {
      stage.removeAttribute("aria-busy");
      return say(await reason(answer));
    }
    columns = await answer.json();
    if (mine !== asked) return;
    draw(keepsCamera);
    stage.removeAttribute("aria-busy");
  }

  async function reason(answer) {
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    return page.querySelector("main p, .alone-card p")?.textContent.trim() || "This cannot be drawn.";
  }

  function draw(keepsCamera) {
    const { nodes, edges } = columns;
    if (!nodes.id.length) {
      drawing?.kill();
      drawing = null;
      return say("Nothing fits these filters.");
    }
    const camera = keepsCamera && drawing ? drawing.getCamera().getState() : null;
    graph = new graphology.MultiDirectedGraph();
    const scale = nodes.id.length > 800 ? 0.6 : nodes.id.length > 200 ? 1 : 1.6;
    const namesAll = nodes.id.length <= 40;
    labelledFrom = 6 * Math.min(scale, 1);
    // Of groups, the largest are named; the others are when there is room.
    const bySize = [...nodes.id.keys()].sort((a, b) => nodes.size[b] - nodes.size[a]);
    const named = new Set(bySize.filter((i) => nodes.members[i]).slice(0, canvas.clientWidth < 500 ? 4 : 9));
    for (let i = 0; i < nodes.id.length; i++) {
      graph.addNode(nodes.id[i], {
        x: nodes.x[i],
        y: nodes.y[i],
        size: nodes.size[i] * (nodes.members[i] ? 1 : scale),
        label: nodes.members[i] ? `${short(nodes.name[i])} (${nodes.members[i]})` : short(nodes.name[i]),
        group: nodes.group[i],
        state: nodes.state[i],
        members: nodes.members[i],
        forceLabel: namesAll || named.has(i),
      });
    }
    const light = edges.source.length > 3000;
    for (let i = 0; i < edges.source.length; i++) {
      graph.addEdgeWithKey(String(i), nodes.id[edges.source[i]], nodes.id[edges.target[i]], {
        size: Math.min(0.6 + Math.log1p(edges.weight[i]) * 0.35, 4),
        state: edges.state[i],
        kind: columns.edge_kinds[edges.kind[i]],
        type: light ? "line" : "arrow",
      });
    }
    order = bySize.map((i) => nodes.id[i]);
    if (chosen && !graph.hasNode(chosen)) choose(null, { quietly: true });
    const counts = columns.counts ?? {};
    const drift = Object.entries(counts).map(([name, number]) => `${number} ${name}`).join(", ");
    const total = columns.nodes_total > nodes.id.length ? ` of ${columns.nodes_total.toLocaleString()}` : "";
    say(
      `${nodes.id.length.toLocaleString()}${total} nodes, ${edges.source.length.toLocaleString()} edges` +
        (drift ? `: ${drift}` : ""),
    );
    if (drawing) {
      drawing.setSetting("labelRenderedSizeThreshold", labelledFrom);
      drawing.setGraph(graph);
      drawing.refresh();
    } else {
      try {
        drawing = new Drawing(graph, canvas, settings());
      } catch {
        return say("This browser does not draw by WebGL: use the table.");
      }
      listen();
    }
    if (camera) drawing.getCamera().setState(camera);
    remember();
    stage.dataset.drawn = String(nodes.id.length);
  }

  function short(name) {
    return name.length > 34 ? `${name.slice(0, 33)}…` : name;
  }

  function settings() {
    return {
      allowInvalidContainer: true,
      stagePadding: 50,
      renderEdgeLabels: false,
      hideEdgesOnMove: true,
      hideLabelsOnMove: true,
      labelDensity: 0.5,
      labelGridCellSize: 110,
      labelRenderedSizeThreshold: labelledFrom,
      // Close by, lines as thick as beams would hide what they tie.
      zoomToSizeRatioFunction: (ratio) => Math.max(Math.sqrt(ratio), 0.45),
      labelFont: getComputedStyle(document.body).fontFamily,
      labelSize: 12,
      labelColor: { color: tones.text },
      defaultEdgeColor: tones.edge,
      minCameraRatio: 0.02,
      maxCameraRatio: 4,
      zIndex: true,
      nodeProgramClasses: { circle: Discs },
      nodeReducer,
      edgeReducer,
      defaultDrawNodeLabel: drawLabel,
      defaultDrawNodeHover: drawHover,
    };
  }

  function nodeReducer(id, data) {
    if (id === focus && !chosen)
      return { ...data, color: colorOfGroup(data.group), highlighted: true, forceLabel: true, zIndex: 2 };
    const state = data.state;
    let color = state ? tones[state] : colorOfGroup(data.group);
    if (!state && columns.counts && Object.keys(columns.counts).length) color = tones.edge;
    if (!chosen) return { ...data, color };
    if (id === chosen) return { ...data, color, highlighted: true, zIndex: 2, forceLabel: true };
    if (near.has(id)) return { ...data, color, zIndex: 1, forceLabel: near.size < 25 };
    return { ...data, color: tones.faint, label: "", forceLabel: false };
  }

  function edgeReducer(edge, data) {
    if (chosen) {
      if (!graph.hasExtremity(edge, chosen)) return { ...data, hidden: true };
      return { ...data, color: tones.strong, size: Math.max(data.size, 1.4), zIndex: 1 };
    }
    return { ...data, color: data.state ? tones[data.state] : tones.edge };
  }

  // To the right of its node, or to the left where the picture ends, or as far inside as it goes.
  function beside(data, width) {
    const right = data.x + data.size + 3;
    if (right + width <= canvasWidth || data.x > canvasWidth) return right;
    const left = data.x - data.size - 3 - width;
    return left > 0 ? left : Math.max(2, canvasWidth - width - 2);
  }

  function drawLabel(context, data, config) {
    if (!data.label) return;
    context.font = `${config.labelSize}px ${config.labelFont}`;
    context.fillStyle = tones.text;
    const x = beside(data, context.measureText(data.label).width);
    context.fillText(data.label, x, data.y + config.labelSize / 3);
  }

  function drawHover(context, data, config) {
    context.font = `600 ${config.labelSize}px ${config.labelFont}`;
    const width = context.measureText(data.label ?? "").width;
    const x = beside(data, width + 12);
    context.fillStyle = tones.ground;
    context.strokeStyle = tones.strong;
    context.lineWidth = 1.5;
    context.beginPath();
    context.roundRect(x, data.y - 11, width + 12, 22, 5);
    context.fill();
    context.stroke();
    context.beginPath();
    context.arc(data.x, data.y, data.size + 2, 0, 2 * Math.PI);
    context.stroke();
    context.fillStyle = tones.text;
    context.fillText(data.label ?? "", x + 6, data.y + 4);
  }

  function say(text) {
    status.textContent = text;
  }

  // --- Choosing --------------------------------------------------------------------------------------
  function choose(id, { quietly = false, moves = false } = {}) {
    chosen = id;
    near = id && graph.hasNode(id) ? new Set(graph.neighbors(id)) : new Set();
    if (id && !graph.hasNode(id)) chosen = null;
    drawing?.refresh({ skipIndexation: true });
    if (moves && chosen) centerOn(chosen);
    if (id && !quietly) inspect(id);
  }

  function inspect(id) {
    const url = new URL(stage.dataset.node, location.href);
    url.searchParams.set("id", id);
    const branch = new URLSearchParams(location.search).get("ref");
    if (branch) url.searchParams.set("ref", branch);
    window.htmx.ajax("GET", url.pathname + url.search, { target: inspector, swap: "innerHTML" });
  }

  function centerOn(id) {
    const at = drawing.getNodeDisplayData(id);
    if (!at) return;
    const now = drawing.getCamera().ratio;
    const ratio = order.length > 150 ? Math.min(now, 0.4) : now;
    drawing.getCamera().animate({ x: at.x, y: at.y, ratio }, { duration: calm() ? 0 : 250 });
  }

  const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

  function enter(id) {
    if (id.startsWith("group:")) return openGroup(id.slice("group:".length));
    focusOn(id);
  }

  function openGroup(number) {
    const opened = (address.searchParams.get("open") ?? "").split(",").filter((one) => one && one !== "none");
    if (!opened.includes(number)) opened.push(number);
    address.searchParams.set("open", opened.join(","));
    const page = new URL(location.href);
    page.searchParams.set("open", opened.join(","));
    history.pushState({}, "", page);
    noteOpened(opened);
    load({ keepsCamera: true });
  }

  function noteOpened(opened) {
    const select = document.querySelector("#graph-open");
    if (!select) return;
    select.querySelector("[data-some]")?.remove();
    const option = new Option(`${opened.length} open`, opened.join(","), true, true);
    option.dataset.some = "";
    select.add(option, 1);
  }

  function focusOn(id) {
    const page = new URL(location.href);
    for (const name of ["open", "at", "from", "to", "page"]) page.searchParams.delete(name);
    page.searchParams.set("focus", id);
    page.pathname = page.pathname.replace(/\/history\/.*$/, "/graph");
    location.assign(page);
  }

  function walk(step) {
    if (!order.length) return;
    const now = chosen ? order.indexOf(chosen) : -1;
    choose(order[(now + step + order.length) % order.length], { moves: true });
    say(graph.getNodeAttribute(chosen, "label"));
  }

  // --- Listening ---------------------------------------------------------------------------------------
  function listen() {
    drawing.on("clickNode", ({ node }) => choose(node));
    drawing.on("doubleClickNode", ({ node, preventSigmaDefault }) => {
      preventSigmaDefault();
      enter(node);
    });
    drawing.on("clickStage", () => choose(null));
    drawing.on("enterNode", () => canvas.classList.add("over-node"));
    drawing.on("leaveNode", () => canvas.classList.remove("over-node"));
    drawing.on("resize", () => { canvasWidth = canvas.clientWidth; });
    drawing.getCamera().on("updated", () => {
      remember();
      rest();
    });
  }

  // Until the camera has rested for a moment, only nodes are drawn: what would be empty anyway is hidden.
  function rest() {
    clearTimeout(moving);
    canvas.classList.add("moves");
    moving = setTimeout(() => {
      moving = 0;
      canvas.classList.remove("moves");
      drawing?.scheduleRender();
    }, 100);
  }

  function remember() {
    window.codememPicture = { drawing, graph };
  }

  const moves = {
    ArrowLeft: [-1, 0],
    ArrowRight: [1, 0],
    ArrowUp: [0, 1],
    ArrowDown: [0, -1],
  };

  canvas.addEventListener("keydown", (event) => {
    if (!drawing || event.ctrlKey || event.metaKey || event.altKey) return;
    const camera = drawing.getCamera();
    const key = event.key;
    if (moves[key]) {
      const { x, y, ratio } = camera.getState();
      camera.setState({ x: x + moves[key][0] * ratio * 0.1, y: y + moves[key][1] * ratio * 0.1 });
    } else if (key === "+" || key === "=") camera.animatedZoom({ duration: 120 });
    else if (key === "-") camera.animatedUnzoom({ duration: 120 });
    else if (key === "0") camera.animatedReset({ duration: 120 });
    else if (key === "n" || key === "N") walk(1);
    else if (key === "p" || key === "P") walk(-1);
    else if (key === "Enter" && chosen) enter(chosen);
    else if (key === "Escape") choose(null);
    else return;
    event.preventDefault();
  });

  document.addEventListener("click", (event) => {
    const within = (selector) => event.target.closest(selector);
    const zoom = within("[data-zoom]")?.dataset.zoom;
    if (zoom && drawing) {
      const camera = drawing.getCamera();
      if (zoom === "in") camera.animatedZoom({ duration: 150 });
      else if (zoom === "out") camera.animatedUnzoom({ duration: 150 });
      else camera.animatedReset({ duration: 150 });
    }
    const group = within("[data-opens-group]");
    if (group) openGroup(group.dataset.opensGroup);
    const link = within("[data-node]");
    if (link && link !== stage && inspector.contains(link)) {
      // What is drawn is chosen; what is not, the link leads to.
      if (!graph?.hasNode(link.dataset.node)) return;
      event.preventDefault();
      choose(link.dataset.node, { moves: true });
    }
  });

  document.addEventListener("codemem:theme", repaint);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);

  function repaint() {
    tones = theme();
    drawing?.setSettings({ labelColor: { color: tones.text }, defaultEdgeColor: tones.edge });
    drawing?.refresh();
  }

  addEventListener("popstate", () => location.reload());

  // --- The slider through time ---------------------------------------------------------------------------
  const slider = document.querySelector("#time");
  if (slider) {
    const stations = [...document.querySelectorAll("#station-list li")];
    const says = document.querySelector("#time-says");
    const told = () => {
      const at = stations[slider.value];
      says.textContent = `${at.dataset.at} · ${at.dataset.sha.slice(0, 8)} · ${at.textContent}`;
      slider.setAttribute("aria-valuetext", says.textContent);
      return at;
    };
    let waits = 0;
    slider.addEventListener("input", () => {
      const at = told();
      clearTimeout(waits);
      waits = setTimeout(() => {
        address = new URL(stage.dataset.time, location.href);
        address.searchParams.set("at", at.dataset.sha);
        load({ keepsCamera: true });
      }, 180);
    });
    told();
  }

  load().then(() => {
    if (focus && graph?.hasNode(focus)) inspect(focus);
  });
}

// Sigma draws every frame twice: once for people, once to know by color what is under the pointer. While
// the camera moves nobody points at anything, and a browser without a graphics card does both in software.
function programs(Sigma, isMoving) {
  // Points take a third of the corners that sigma's own discs take, and look the same.
  class Discs extends Sigma.rendering.NodePointProgram {
    render(frame) {
      const { pickProgram } = this;
      if (isMoving()) this.pickProgram = null;
      super.render(frame);
      this.pickProgram = pickProgram;
    }
  }

  class Drawing extends Sigma {
    getNodeAtPosition(place) {
      return isMoving() ? null : super.getNodeAtPosition(place);
    }

    resetWebGLTexture(layer) {
      return isMoving() ? this : super.resetWebGLTexture(layer);
    }
  }
  return { Drawing, Discs };
}
