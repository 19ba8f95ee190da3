"""The part of the C header that no table holds: how bytes are decoded, and the rules between fields.

The tables in front of it are generated (`c_header`). The rules are those of `kernels.ev74.rules`, in their order, so
that both find the same fault at the same field. Python's integers have no end; here every sum and product either fits
64 bits or is marked as larger than any (`tessbed_big`), and what is marked equals no size and clears no span.
"""

RULES = """\
/* A sum or product of sizes: `over` where it needs more than 64 bits. */
typedef struct tessbed_big {
    uint64_t value;
    int over;
} tessbed_big;

static inline tessbed_big tessbed_big_of(uint64_t value) {
    tessbed_big big;
    big.value = value;
    big.over = 0;
    return big;
}
static inline tessbed_big tessbed_plus(tessbed_big a, tessbed_big b) {
    tessbed_big sum;
    sum.value = a.value + b.value;
    sum.over = a.over || b.over || sum.value < a.value;
    return sum;
}
static inline tessbed_big tessbed_times(tessbed_big a, uint64_t b) {
    tessbed_big product;
    product.value = a.value * b;
    product.over = b != 0 && (a.over || a.value > UINT64_MAX / b);
    return product;
}
static inline tessbed_big tessbed_rounded_up(tessbed_big a, uint64_t step) {
    return tessbed_plus(a, tessbed_big_of(a.value % step ? step - a.value % step : 0));
}

static inline tessbed_fault tessbed_found(tessbed_code code, tessbed_field field) {
    tessbed_fault fault;
    fault.code = code;
    fault.field = field;
    return fault;
}
static inline tessbed_fault tessbed_no_fault(void) { return tessbed_found(TESSBED_VALID, TESSBED_FIELDS); }

/* An axis of the linear side, and a run of equal tiles along one. */
typedef struct tessbed_axis {
    uint64_t extent, stride;
    tessbed_field extent_field, stride_field;
} tessbed_axis;
typedef struct tessbed_part {
    uint64_t count, extent;
} tessbed_part;

static inline uint64_t tessbed_width(uint64_t dtype) { return dtype; } /* a scalar type's number is its bytes */

static inline const tessbed_operation *tessbed_operation_of(const uint64_t *v) {
    for (size_t i = 0; i < TESSBED_OPERATIONS; i++)
        if (tessbed_operations[i].code == v[TESSBED_OP]) return &tessbed_operations[i];
    return NULL;
}

/* C, D, H, W and the outer axes in use; returns how many. */
static inline size_t tessbed_linear_axes(const uint64_t *v, tessbed_axis *axes) {
    const size_t outer = (size_t)v[TESSBED_OUTER_RANK];
    for (size_t i = 0; i < 4 + outer; i++) {
        axes[i].extent_field = tessbed_axis_fields[i].extent;
        axes[i].stride_field = tessbed_axis_fields[i].stride;
        axes[i].extent = v[axes[i].extent_field];
        axes[i].stride = v[axes[i].stride_field];
    }
    return 4 + outer;
}

/* The full tiles along an axis, and the boundary tile where there is one; returns how many kinds. */
static inline size_t tessbed_parts_of(const uint64_t *v, size_t axis, tessbed_part *parts) {
    const uint64_t extent = v[tessbed_axis_fields[axis].extent], tile = v[tessbed_axis_fields[axis].tile];
    parts[0].count = extent / tile;
    parts[0].extent = tile;
    parts[1].count = 1;
    parts[1].extent = extent % tile;
    return extent % tile ? 2 : 1;
}

static inline tessbed_fault tessbed_rule_operation(const uint64_t *v) {
    const tessbed_operation *op = tessbed_operation_of(v);
    int known = 0;
    if (!op) return tessbed_found(TESSBED_FAULT_RANGE, TESSBED_OP);
    for (size_t i = 0; i < op->pairs; i++)
        known = known || (op->pair[i].tiled == v[TESSBED_TILED_DTYPE] && op->pair[i].linear == v[TESSBED_LINEAR_DTYPE]);
    if (!known) return tessbed_found(TESSBED_FAULT_GEOMETRY, TESSBED_LINEAR_DTYPE);
    if (!(op->formats & v[TESSBED_TILE_FORMAT])) return tessbed_found(TESSBED_FAULT_GEOMETRY, TESSBED_TILE_FORMAT);
    if (v[TESSBED_TILE_FORMAT] == TESSBED_TILE_FORMAT_CBLOCKED && v[TESSBED_D_EXTENT] != 1)
        return tessbed_found(TESSBED_FAULT_GEOMETRY, TESSBED_D_EXTENT);
    if (v[TESSBED_VERSION_MINOR] != op->version_minor)
        return tessbed_found(TESSBED_FAULT_GEOMETRY, TESSBED_VERSION_MINOR);
    return tessbed_no_fault();
}

static inline tessbed_fault tessbed_rule_outer(const uint64_t *v) {
    const size_t used = (size_t)v[TESSBED_OUTER_RANK];
    size_t rank = used + 1;
    for (size_t i = 1; i < 4; i++) rank += v[tessbed_axis_fields[i].extent] > 1;
    if (rank > TESSBED_MAX_RANK) return tessbed_found(TESSBED_FAULT_GEOMETRY, TESSBED_OUTER_RANK);
    for (size_t i = 0; i < TESSBED_MAX_OUTER; i++) {
        const tessbed_field extent = tessbed_axis_fields[4 + i].extent, stride = tessbed_axis_fields[4 + i].stride;
        if (i < used) {
            if (!v[extent]) return tessbed_found(TESSBED_FAULT_GEOMETRY, extent);
        } else if (v[extent] || v[stride]) {
            return tessbed_found(TESSBED_FAULT_NONCANONICAL, v[extent] ? extent : stride);
        }
    }
    return tessbed_no_fault();
}

static inline tessbed_fault tessbed_rule_tiles(const uint64_t *v) {
    for (size_t i = 0; i < 4; i++)
        if (v[tessbed_axis_fields[i].tile] > v[tessbed_axis_fields[i].extent])
            return tessbed_found(TESSBED_FAULT_GEOMETRY, tessbed_axis_fields[i].tile);
    return tessbed_no_fault();
}

static inline tessbed_fault tessbed_rule_fill(const uint64_t *v) {
    tessbed_part parts[2];
    const size_t kinds = tessbed_parts_of(v, 0, parts);
    int padded = 0;
    for (size_t i = 0; i < kinds; i++) padded = padded || parts[i].extent % TESSBED_CHANNEL_BLOCK;
    padded = padded && v[TESSBED_TILE_FORMAT] == TESSBED_TILE_FORMAT_PAD16;
    padded = padded && v[TESSBED_TILED_DTYPE] == TESSBED_DTYPE_INT8;
    if (v[TESSBED_CHANNEL_FILL] && !(padded && tessbed_operation_of(v)->fills))
        return tessbed_found(TESSBED_FAULT_NONCANONICAL, TESSBED_CHANNEL_FILL);
    return tessbed_no_fault();
}

static inline tessbed_fault tessbed_rule_parameters(const uint64_t *v) {
    const tessbed_operation *op = tessbed_operation_of(v);
    for (size_t i = 0; i < op->parameters; i++) {
        const tessbed_parameter *p = &op->parameter[i];
        const uint64_t word = v[p->field];
        const int64_t whole = word > 127 && p->low < 0 ? (int64_t)word - 256 : (int64_t)word;
        if (whole < p->low || whole > p->high) return tessbed_found(TESSBED_FAULT_GEOMETRY, p->field);
    }
    for (size_t i = 0; i < TESSBED_FIELDS; i++) {
        int held = 0;
        if (!tessbed_field_table[i].parameter || !v[i]) continue;
        for (size_t k = 0; k < op->parameters; k++) held = held || op->parameter[k].field == (tessbed_field)i;
        if (!held) return tessbed_found(TESSBED_FAULT_NONCANONICAL, (tessbed_field)i);
    }
    return tessbed_no_fault();
}

/* Sorted by size, each stride clears the span of all axes with smaller strides; axes of one element do not count. */
static inline tessbed_fault tessbed_rule_strides(const uint64_t *v) {
    const uint64_t width = tessbed_width(v[TESSBED_LINEAR_DTYPE]);
    tessbed_axis axes[4 + TESSBED_MAX_OUTER];
    const size_t count = tessbed_linear_axes(v, axes);
    tessbed_big span = tessbed_big_of(width);
    for (size_t i = 0; i < count; i++) {
        const tessbed_field field = axes[i].stride_field;
        if (axes[i].extent == 1 && axes[i].stride) return tessbed_found(TESSBED_FAULT_NONCANONICAL, field);
        if (axes[i].stride % width) return tessbed_found(TESSBED_FAULT_GEOMETRY, field);
    }
    for (size_t i = 1; i < count; i++) { /* stable: equal strides stay in the order of their axes */
        const tessbed_axis moved = axes[i];
        size_t k = i;
        for (; k > 0 && axes[k - 1].stride > moved.stride; k--) axes[k] = axes[k - 1];
        axes[k] = moved;
    }
    for (size_t i = 0; i < count; i++) {
        if (axes[i].extent <= 1) continue;
        if (span.over || axes[i].stride < span.value)
            return tessbed_found(TESSBED_FAULT_GEOMETRY, axes[i].stride_field);
        span = tessbed_plus(span, tessbed_times(tessbed_big_of(axes[i].extent - 1), axes[i].stride));
    }
    return tessbed_no_fault();
}

static inline tessbed_big tessbed_linear_bytes(const uint64_t *v) {
    tessbed_axis axes[4 + TESSBED_MAX_OUTER];
    const size_t count = tessbed_linear_axes(v, axes);
    tessbed_big bytes = tessbed_big_of(tessbed_width(v[TESSBED_LINEAR_DTYPE]));
    for (size_t i = 0; i < count; i++)
        bytes = tessbed_plus(bytes, tessbed_times(tessbed_big_of(axes[i].extent - 1), axes[i].stride));
    return bytes;
}

static inline tessbed_big tessbed_tiled_bytes(const uint64_t *v) {
    tessbed_part parts[4][2];
    size_t kinds[4];
    tessbed_big volume = tessbed_big_of(0);
    for (size_t i = 0; i < 4; i++) kinds[i] = tessbed_parts_of(v, i, parts[i]);
    for (size_t all = 0; all < 16; all++) { /* one bit for each axis: full or boundary tiles */
        tessbed_big bytes, tiles = tessbed_big_of(1);
        int there = 1;
        for (size_t i = 0; i < 4; i++) there = there && (all >> i & 1) < kinds[i];
        if (!there) continue;
        bytes = tessbed_big_of(parts[0][all & 1].extent);
        if (v[TESSBED_TILE_FORMAT] != TESSBED_TILE_FORMAT_COMPACT)
            bytes = tessbed_rounded_up(bytes, TESSBED_CHANNEL_BLOCK);
        for (size_t i = 1; i < 4; i++) bytes = tessbed_times(bytes, parts[i][all >> i & 1].extent);
        bytes = tessbed_times(bytes, tessbed_width(v[TESSBED_TILED_DTYPE]));
        bytes = tessbed_rounded_up(bytes, TESSBED_TILE_ALIGNMENT);
        for (size_t i = 0; i < 4; i++) tiles = tessbed_times(tiles, parts[i][all >> i & 1].count);
        bytes.over = bytes.over || tiles.over;
        volume = tessbed_plus(volume, tessbed_times(bytes, tiles.value));
    }
    for (size_t i = 0; i < v[TESSBED_OUTER_RANK]; i++)
        volume = tessbed_times(volume, v[tessbed_axis_fields[4 + i].extent]);
    return volume;
}

static inline tessbed_fault tessbed_rule_relocations(const uint64_t *v) {
    const uint64_t tiled_port = tessbed_operation_of(v)->packs ? 1 : 0;
    for (uint64_t port = 0; port < 2; port++) {
        const tessbed_port *fields = &tessbed_port_fields[port];
        const tessbed_big bytes = port == tiled_port ? tessbed_tiled_bytes(v) : tessbed_linear_bytes(v);
        const uint64_t alignment = port == tiled_port ? TESSBED_TILE_ALIGNMENT : tessbed_width(v[TESSBED_LINEAR_DTYPE]);
        if (v[fields->alignment] != alignment) return tessbed_found(TESSBED_FAULT_GEOMETRY, fields->alignment);
        if (bytes.over || v[fields->required_bytes] != bytes.value)
            return tessbed_found(TESSBED_FAULT_GEOMETRY, fields->required_bytes);
    }
    return tessbed_no_fault();
}

/* By the last byte of each span: the byte behind it may lie outside 64 bits. */
static inline tessbed_fault tessbed_rule_addresses(const uint64_t *v) {
    uint64_t first[2], last[2];
    for (size_t port = 0; port < 2; port++) {
        const tessbed_port *fields = &tessbed_port_fields[port];
        first[port] = v[fields->address];
        if (first[port] % v[fields->alignment]) return tessbed_found(TESSBED_FAULT_ALIGNMENT, fields->address);
        if (first[port] > UINT64_MAX - (v[fields->required_bytes] - 1))
            return tessbed_found(TESSBED_FAULT_GEOMETRY, fields->address);
        last[port] = first[port] + (v[fields->required_bytes] - 1);
    }
    if (first[0] && first[1] && first[0] <= last[1] && first[1] <= last[0])
        return tessbed_found(TESSBED_FAULT_OVERLAP, TESSBED_OUTPUT_ADDRESS);
    return tessbed_no_fault();
}

static inline tessbed_fault tessbed_rule_bound(const uint64_t *v) {
    for (size_t port = 0; port < 2; port++)
        if ((v[TESSBED_INPUT_ADDRESS] || v[TESSBED_OUTPUT_ADDRESS]) && !v[tessbed_port_fields[port].address])
            return tessbed_found(TESSBED_FAULT_UNBOUND, tessbed_port_fields[port].address);
    return tessbed_no_fault();
}

static inline uint64_t tessbed_read(const uint8_t *bytes, tessbed_field field) {
    uint64_t value = 0;
    for (size_t i = tessbed_field_table[field].width; i > 0; i--)
        value = value << 8 | bytes[tessbed_field_table[field].offset + i - 1];
    return value;
}

/* CRC-32 (IEEE 802.3) of all bytes of a packet but the checksum's own. */
static inline uint32_t tessbed_checksum(const uint8_t *bytes) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < TESSBED_PACKET_SIZE; i++) {
        if (i >= TESSBED_CRC32_OFFSET && i < TESSBED_CRC32_OFFSET + 4) continue;
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (crc & 1 ? UINT32_C(0xEDB88320) : 0);
    }
    return ~crc;
}

static inline tessbed_fault tessbed_check_field(tessbed_field field, uint64_t value) {
    const tessbed_field_row *row = &tessbed_field_table[field];
    int admitted = value >= row->low && value <= row->high;
    if (admitted && row->one_of) admitted = value < 64 && (row->one_of >> value & 1);
    return admitted ? tessbed_no_fault() : tessbed_found(row->fault, field);
}

/* The values of a packet's fields, indexed by tessbed_field, each within its own limits. `values` has TESSBED_FIELDS
   elements. Magic and version come first: a longer packet of a later version is refused for its version. */
static inline tessbed_fault tessbed_decode_fields(const uint8_t *bytes, size_t size, uint64_t *values) {
    static const tessbed_field prefix[3] = {TESSBED_MAGIC, TESSBED_VERSION_MAJOR, TESSBED_VERSION_MINOR};
    for (size_t i = 0; i < 3; i++) {
        const tessbed_field_row *row = &tessbed_field_table[prefix[i]];
        tessbed_fault fault;
        if (size < (size_t)row->offset + row->width) break;
        fault = tessbed_check_field(prefix[i], tessbed_read(bytes, prefix[i]));
        if (fault.code) return fault;
    }
    if (size != TESSBED_PACKET_SIZE) return tessbed_found(TESSBED_FAULT_SIZE, TESSBED_PACKET_BYTES);
    for (size_t i = 0; i < TESSBED_FIELDS; i++) values[i] = tessbed_read(bytes, (tessbed_field)i);
    if (values[TESSBED_CRC32] != tessbed_checksum(bytes)) return tessbed_found(TESSBED_FAULT_CRC, TESSBED_CRC32);
    for (size_t i = 0; i < TESSBED_FIELDS; i++) {
        tessbed_fault fault;
        if (tessbed_field_table[i].since_minor > values[TESSBED_VERSION_MINOR] && values[i])
            return tessbed_found(TESSBED_FAULT_NONCANONICAL, (tessbed_field)i);
        fault = tessbed_check_field((tessbed_field)i, values[i]);
        if (fault.code) return fault;
    }
    return tessbed_no_fault();
}

/* What decoded fields must say together; a packet whose addresses are both zero is a valid template. */
static inline tessbed_fault tessbed_check_rules(const uint64_t *values) {
    tessbed_fault (*const rules[])(const uint64_t *) = {
        tessbed_rule_operation,  tessbed_rule_outer,   tessbed_rule_tiles,
        tessbed_rule_fill,       tessbed_rule_parameters, tessbed_rule_strides,
        tessbed_rule_relocations, tessbed_rule_addresses, tessbed_rule_bound,
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const tessbed_fault fault = rules[i](values);
        if (fault.code) return fault;
    }
    return tessbed_no_fault();
}

/* Decodes and judges `size` bytes; `packet` is written where the fault's code is TESSBED_VALID, which is 0. */
static inline tessbed_fault tessbed_decode(const uint8_t *bytes, size_t size, tessbed_packet *packet) {
    uint64_t values[TESSBED_FIELDS];
    tessbed_fault fault = tessbed_decode_fields(bytes, size, values);
    if (!fault.code) fault = tessbed_check_rules(values);
    if (!fault.code) tessbed_fill_packet(packet, values);
    return fault;
}

/* Writes a packet's TESSBED_PACKET_SIZE bytes with the checksum that they ask for; judges nothing. */
static inline void tessbed_encode(const tessbed_packet *packet, uint8_t *bytes) {
    uint64_t values[TESSBED_FIELDS];
    tessbed_list_fields(packet, values);
    for (int sealed = 0; sealed < 2; sealed++) {
        for (size_t i = 0; i < TESSBED_FIELDS; i++)
            for (size_t k = 0; k < tessbed_field_table[i].width; k++)
                bytes[tessbed_field_table[i].offset + k] = (uint8_t)(values[i] >> 8 * k & 0xFF);
        values[TESSBED_CRC32] = tessbed_checksum(bytes);
    }
}
"""
