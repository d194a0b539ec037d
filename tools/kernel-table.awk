# kernel-table.awk: docs/kernels.md from what tools/kernel-gates.sh printed, the worst figures of each file and width.
#
#   awk -f tools/kernel-table.awk build/check/kernels.txt >docs/kernels.md

# The figure NAME=... of this line, 0 where it has none.
function value(name,    i) {
    for (i = 3; i <= NF; i++)
        if (index($i, name "=") == 1)
            return substr($i, length(name) + 2) + 0
    return 0
}

function most(figure, amount) {
    if (!(($1, row, figure) in worst) || worst[$1, row, figure] < amount)
        worst[$1, row, figure] = amount
}

function least(figure, amount) {
    if (!(($1, row, figure) in worst) || worst[$1, row, figure] > amount)
        worst[$1, row, figure] = amount
}

function cell(target, row,    text) {
    text = worst[target, row, "width"]
    if (vendor[target] == "AMD")
        text = text " + " worst[target, row, "scalars"]
    text = text ", " worst[target, row, "spill"]
    if (worst[target, row, "traded"] > 0)
        text = text " (" worst[target, row, "traded"] ")"
    return text ", " worst[target, row, "lds"]
}

function print_row(maker, name, bits,    t, line) {
    line = "| " name " | " bits " |"
    for (t = 1; t <= targets; t++)
        if (vendor[target[t]] == maker)
            line = line " " cell(target[t], name SUBSEP bits) " |"
    print line
}

function print_vendor(maker, legend,    t, f, bits, head, rule) {
    head = "| File | Bits |"
    rule = "| --- | ---: |"
    for (t = 1; t <= targets; t++)
        if (vendor[target[t]] == maker) {
            head = head " " target[t] " |"
            rule = rule " --- |"
        }
    print "\n## " maker "\n\n" legend "\n\n" head "\n" rule
    for (f = 1; f <= files; f++)
        for (bits = 8; bits <= 64; bits *= 2)
            if ((file[f], bits) in programs)
                print_row(maker, file[f], bits)
}

/^compiled with / { compilers = substr($0, 15) }

/^[a-z_]+\.cl -D/ {
    name = substr($1, 1, length($1) - 3)
    match($0, /PK_WIDTH_BITS=[0-9]+/)
    row = name SUBSEP (substr($0, RSTART + 14, RLENGTH - 14) + 0)
    if (!(name in seen))
        file[++files] = name
    seen[name] = 1
    programs[row]++
    count++
}

/ lds=[0-9]+ +spill=/ {
    if (!($1 in vendor))
        target[++targets] = $1
    vendor[$1] = / regs=/ ? "NVIDIA" : / vgpr=/ ? "AMD" : "Intel"
    most("lds", value("lds"))
    most("spill", value("spill"))
    most("traded", value("traded"))
    if (vendor[$1] == "Intel")
        least("width", value("simd"))
    else
        most("width", value("regs") + value("vgpr"))
    most("scalars", value("sgpr"))
    kernels++
}

END {
    print "# What the kernels take of a GPU\n"
    print "`tools/check.sh --gates` compiles every program that the library asks for on a GPU at its built-in sizes, and"
    print "fails where registers spill, a work-item keeps more than 64 bytes in private memory, a work-group takes more"
    print "than 16 KiB of local memory, or `filter` does not read 128 bits a load. With `--long` it does so for work-groups"
    print "of 64 and of 128, too. This page is made from what it printed:\n"
    print "    awk -f tools/kernel-table.awk build/check/kernels.txt >docs/kernels.md\n"
    print count " programs for " targets " targets, " kernels " kernels in all; " compilers "."
    print "Work-groups of 256, of 128 in `sort`. A line is a kernel file at a width of elements, a cell the worst of its"
    print "kernels, with indices of 32 and of 64 bits."
    print_vendor("NVIDIA", "Registers of a work-item, spilled bytes, bytes of local memory. In brackets what ptxas would " \
        "spill to fit one\nmore work-group on a multiprocessor; the registers are then those it takes when it need not.")
    print_vendor("AMD", "Vector and scalar registers, spilled registers, bytes of local memory.")
    print_vendor("Intel", "Work-items of a hardware thread, spilled bytes, bytes of local memory.")
}
